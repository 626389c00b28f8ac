import { isObject, type JsonObject } from "@roomhub/protocol";
import type { ToolName } from "../../translation/tool-naming.ts";
import type { DeclaredTool } from "./declared-tools.ts";
import {
  isAbsent,
  noCounterpart,
  objectAt,
  optionalArray,
  optionalString,
  quoted,
  requiredString,
  wrongType,
  UntranslatableError,
} from "../../translation/read-field.ts";

interface ChosenTools {
  /** what the model may call */
  tools: readonly DeclaredTool[];
  /** chat's `tool_choice`; undefined leaves it to the provider, which means `auto` */
  choice: "auto" | "none" | "required" | ChatFunctionChoice | undefined;
}

interface ChatFunctionChoice {
  type: "function";
  function: { name: string };
}

/**
 * Reads `tool_choice`. What demands a tool that chat does not have is refused: a response without it would be wrong.
 *
 * @param declared - the tools that exist in chat
 * @throws UntranslatableError for a forced tool that is hosted or was not declared, and for unknown modes
 */
export function chooseTools(body: JsonObject, declared: readonly DeclaredTool[]): ChosenTools {
  const choice = body["tool_choice"];
  if (isAbsent(choice)) return { tools: declared, choice: undefined };
  if (typeof choice === "string") {
    return { tools: declared, choice: checkMode(choice, declared, "tool_choice") };
  }
  if (!isObject(choice)) throw wrongType("tool_choice", "a string or an object");
  const type = requiredString(choice, "type", "tool_choice");
  switch (type) {
    case "allowed_tools":
      return allowTools(choice, declared);
    case "function":
    case "custom":
      return { tools: declared, choice: forceTool(choice, declared) };
    default:
      throw noCounterpart(
        `Forcing a tool of type ${quoted(type)}`,
        "tool_choice.type",
        "Choose a function or leave tool_choice out.",
      );
  }
}

function checkMode(mode: string, tools: readonly DeclaredTool[], path: string) {
  if (mode !== "auto" && mode !== "none" && mode !== "required") {
    throw new UntranslatableError(
      `${path} must be auto, none or required, not ${quoted(mode)}.`,
      path,
      "unsupported_value",
    );
  }
  if (mode === "required" && tools.length === 0) {
    throw new UntranslatableError(
      `${path} demands a tool call, but none of the tools exists in chat completions, the only API this participant's provider supports. Declare a function.`,
      path,
      "unsupported_value",
    );
  }
  return mode;
}

/** Chat servers know no `allowed_tools`: the others are not offered at all. */
function allowTools(choice: JsonObject, declared: readonly DeclaredTool[]): ChosenTools {
  const isAllowed = readAllowed(choice);
  const tools = declared.filter(({ tool }) => isAllowed(tool));
  const mode = optionalString(choice, "mode", "tool_choice") ?? "auto";
  return { tools, choice: checkMode(mode, tools, "tool_choice.mode") };
}

/** A tool may be named by itself, with its namespace or without, or by naming its whole namespace. */
function readAllowed(choice: JsonObject): (tool: ToolName) => boolean {
  const path = "tool_choice.tools";
  const entries = optionalArray(choice, "tools", "tool_choice");
  if (entries === undefined) throw wrongType(path, "an array");
  const bare = {
    function: new Set<string>(),
    custom: new Set<string>(),
    namespace: new Set<string>(),
  };
  const qualified = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const entryPath = `${path}[${index}]`;
    const reference = objectAt(entry, entryPath);
    const type = requiredString(reference, "type", entryPath);
    // Hosted tools are not there to be allowed, as in `tools`.
    if (type !== "function" && type !== "custom" && type !== "namespace") continue;
    const name = requiredString(reference, "name", entryPath);
    const namespace = optionalString(reference, "namespace", entryPath);
    if (namespace === undefined) bare[type].add(name);
    else qualified.add(keyOf(type, namespace, name));
  }
  return ({ kind, namespace, name }) =>
    bare[kind].has(name) ||
    (namespace !== undefined &&
      (bare.namespace.has(namespace) || qualified.has(keyOf(kind, namespace, name))));
}

function keyOf(type: string, namespace: string, name: string): string {
  return JSON.stringify([type, namespace, name]);
}

/** A tool outside of namespaces goes before one inside of that name. */
function forceTool(choice: JsonObject, declared: readonly DeclaredTool[]): ChatFunctionChoice {
  const type = requiredString(choice, "type", "tool_choice");
  const name = requiredString(choice, "name", "tool_choice");
  const namespace = optionalString(choice, "namespace", "tool_choice");
  const named = declared.filter(({ tool }) => tool.kind === type && tool.name === name);
  const exact = named.find(({ tool }) => tool.namespace === namespace);
  const found = namespace === undefined ? (exact ?? named[0]) : exact;
  if (found === undefined) {
    throw new UntranslatableError(
      `tool_choice names the ${type} tool ${quoted(name)}, which is not among tools. Declare it or choose another.`,
      "tool_choice.name",
      "unsupported_value",
    );
  }
  return { type: "function", function: { name: found.chatName } };
}
