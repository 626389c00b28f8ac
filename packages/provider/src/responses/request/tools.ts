import { isObject, type JsonObject } from "@roomhub/protocol";
import {
  type ChosenTools,
  type DeclaredTool,
  forcedTool,
  named,
} from "../../translation/chat/chat-tools.ts";
import {
  isAbsent,
  noCounterpart,
  objectAt,
  optionalArray,
  optionalBoolean,
  optionalObject,
  optionalString,
  quoted,
  requiredString,
  UntranslatableError,
  wrongType,
} from "../../translation/read-field.ts";
import type { ToolName, ToolNaming } from "../../translation/tool-naming.ts";

interface Namespace {
  name: string;
  description: string | undefined;
}

/** The name is repeated for each tool of the namespace, so a long one would multiply. */
const maxNamespaceLength = 128;

/** Sent for a function without a schema, which some model servers refuse. */
const noParameters = { type: "object", properties: {} };

/** The parameters of a custom tool's function. `ToolName.kind` says how to translate a call back. */
const freeText = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

/**
 * Reads `tools`, `tool_choice` and `parallel_tool_calls`.
 *
 * @param naming - learns the chat name of every declared tool, allowed this time or not
 * @throws UntranslatableError
 */
export function readTools(body: JsonObject, naming: ToolNaming): ChosenTools {
  const declared = readEntries(optionalArray(body, "tools", "") ?? [], "tools", undefined, naming);
  const chosen = choose(body, declared);
  return { ...chosen, isParallel: optionalBoolean(body, "parallel_tool_calls", "") };
}

/**
 * The tools that exist in chat: functions, custom tools, and those inside namespaces.
 *
 * Every other type runs on the provider's side (web_search, mcp, …) and is left out: the model cannot call it, and
 * nothing of the conversation is lost. {@link choose} refuses a request that demands one.
 */
function readEntries(
  entries: readonly unknown[],
  path: string,
  namespace: Namespace | undefined,
  naming: ToolNaming,
): DeclaredTool[] {
  return entries.flatMap((entry, index) => {
    const toolPath = `${path}[${index}]`;
    const tool = objectAt(entry, toolPath);
    switch (requiredString(tool, "type", toolPath)) {
      case "function":
        return [readFunction(tool, toolPath, namespace, naming)];
      case "custom":
        return [readCustom(tool, toolPath, namespace, naming)];
      case "namespace":
        // Namespaces do not nest.
        return namespace === undefined ? readNamespace(tool, toolPath, naming) : [];
      default:
        return [];
    }
  });
}

function readNamespace(tool: JsonObject, path: string, naming: ToolNaming): DeclaredTool[] {
  const namespace = {
    name: requiredString(tool, "name", path),
    description: optionalString(tool, "description", path),
  };
  if (namespace.name.length > maxNamespaceLength) {
    const message = `${path}.name is longer than ${maxNamespaceLength} characters. Shorten it.`;
    throw new UntranslatableError(message, `${path}.name`);
  }
  return readEntries(optionalArray(tool, "tools", path) ?? [], `${path}.tools`, namespace, naming);
}

function readFunction(
  tool: JsonObject,
  path: string,
  namespace: Namespace | undefined,
  naming: ToolNaming,
): DeclaredTool {
  const name = requiredString(tool, "name", path);
  return {
    ...named({ kind: "function", name, namespace: namespace?.name }, naming),
    description: optionalString(tool, "description", path),
    parameters: optionalObject(tool, "parameters", path) ?? noParameters,
    strict: optionalBoolean(tool, "strict", path),
    namespaceDescription: namespace?.description,
  };
}

function readCustom(
  tool: JsonObject,
  path: string,
  namespace: Namespace | undefined,
  naming: ToolNaming,
): DeclaredTool {
  const name = requiredString(tool, "name", path);
  const description = [optionalString(tool, "description", path), grammarOf(tool, path)]
    .filter((text) => text !== undefined)
    .join("\n\n");
  return {
    ...named({ kind: "custom", name, namespace: namespace?.name }, naming),
    description: description === "" ? undefined : description,
    parameters: freeText,
    strict: undefined,
    namespaceDescription: namespace?.description,
  };
}

/** Chat cannot enforce a grammar, so the model is instructed to keep to it. */
function grammarOf(tool: JsonObject, path: string): string | undefined {
  const formatPath = `${path}.format`;
  const format = optionalObject(tool, "format", path);
  if (format === undefined || format["type"] !== "grammar") return undefined;
  const syntax = requiredString(format, "syntax", formatPath);
  const definition = requiredString(format, "definition", formatPath);
  return `The input must match this ${syntax} grammar:\n${definition}`;
}

/**
 * Reads `tool_choice`. What demands a tool that chat does not have is refused: a response without it would be wrong.
 *
 * @param declared - the tools that exist in chat
 * @throws UntranslatableError for a forced tool that is hosted or was not declared, and for unknown modes
 */
function choose(body: JsonObject, declared: readonly DeclaredTool[]): ChosenTools {
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
    );
  }
  if (mode === "required" && tools.length === 0) {
    throw new UntranslatableError(
      `${path} demands a tool call, but none of the tools exists in chat completions, the only API this participant's provider supports. Declare a function.`,
      path,
    );
  }
  return mode;
}

/** Chat servers know no `allowed_tools`: the model is offered no others. */
function allowTools(choice: JsonObject, declared: readonly DeclaredTool[]): ChosenTools {
  const isAllowed = readAllowed(choice);
  const tools = declared.filter(({ tool }) => isAllowed(tool));
  const mode = optionalString(choice, "mode", "tool_choice") ?? "auto";
  return { tools, choice: checkMode(mode, tools, "tool_choice.mode") };
}

/** An entry names a tool, with its namespace or without, or a whole namespace. */
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
    // Hosted tools are left out, as in `tools`.
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

/** Without a namespace, a tool outside namespaces is preferred to one of that name inside. */
function forceTool(choice: JsonObject, declared: readonly DeclaredTool[]): ChosenTools["choice"] {
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
    );
  }
  return forcedTool(found);
}
