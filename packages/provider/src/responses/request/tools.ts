import { isObject } from "@roomhub/protocol";
import {
  type ChosenTools,
  type DeclaredTool,
  forcedTool,
  named,
} from "../../translation/chat/chat-tools.ts";
import {
  isAbsent,
  noCounterpart,
  PlacedObject,
  quoted,
  UntranslatableError,
  wrongType,
} from "../../translation/placed-object.ts";
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
export function readTools(body: PlacedObject, naming: ToolNaming): ChosenTools {
  const declared = readEntries(body, undefined, naming);
  const chosen = choose(body.value["tool_choice"], declared);
  return { ...chosen, isParallel: body.optionalBoolean("parallel_tool_calls") };
}

/**
 * The tools that exist in chat: functions, custom tools, and those inside namespaces.
 *
 * Every other type runs on the provider's side (web_search, mcp, …) and is left out: the model cannot call it, and
 * nothing of the conversation is lost. {@link choose} refuses a request that demands one.
 */
function readEntries(
  within: PlacedObject,
  namespace: Namespace | undefined,
  naming: ToolNaming,
): DeclaredTool[] {
  const read = (tool: PlacedObject): DeclaredTool[] => {
    switch (tool.string("type")) {
      case "function":
        return [readFunction(tool, namespace, naming)];
      case "custom":
        return [readCustom(tool, namespace, naming)];
      case "namespace":
        // Namespaces do not nest.
        return namespace === undefined ? readNamespace(tool, naming) : [];
      default:
        return [];
    }
  };
  return within.each("tools", read).flat();
}

function readNamespace(tool: PlacedObject, naming: ToolNaming): DeclaredTool[] {
  const namespace = { name: tool.string("name"), description: tool.optionalString("description") };
  if (namespace.name.length > maxNamespaceLength) {
    const path = tool.pathTo("name");
    const message = `${path} is longer than ${maxNamespaceLength} characters. Shorten it.`;
    throw new UntranslatableError(message, path);
  }
  return readEntries(tool, namespace, naming);
}

function readFunction(
  tool: PlacedObject,
  namespace: Namespace | undefined,
  naming: ToolNaming,
): DeclaredTool {
  const name = tool.string("name");
  return {
    ...named({ kind: "function", name, namespace: namespace?.name }, naming),
    description: tool.optionalString("description"),
    parameters: tool.optionalObject("parameters")?.value ?? noParameters,
    strict: tool.optionalBoolean("strict"),
    namespaceDescription: namespace?.description,
  };
}

function readCustom(
  tool: PlacedObject,
  namespace: Namespace | undefined,
  naming: ToolNaming,
): DeclaredTool {
  const name = tool.string("name");
  const description = [tool.optionalString("description"), grammarOf(tool)]
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
function grammarOf(tool: PlacedObject): string | undefined {
  const format = tool.optionalObject("format");
  if (format?.value["type"] !== "grammar") return undefined;
  const [syntax, definition] = [format.string("syntax"), format.string("definition")];
  return `The input must match this ${syntax} grammar:\n${definition}`;
}

/**
 * Reads `tool_choice`. What demands a tool that chat does not have is refused: a response without it would be wrong.
 *
 * @param declared - the tools that exist in chat
 * @throws UntranslatableError for a forced tool that is hosted or was not declared, and for unknown modes
 */
function choose(given: unknown, declared: readonly DeclaredTool[]): ChosenTools {
  if (isAbsent(given)) return { tools: declared, choice: undefined };
  if (typeof given === "string") {
    return { tools: declared, choice: checkMode(given, declared, "tool_choice") };
  }
  if (!isObject(given)) throw wrongType("tool_choice", "a string or an object");
  const choice = new PlacedObject(given, "tool_choice");
  const type = choice.string("type");
  switch (type) {
    case "allowed_tools":
      return allowTools(choice, declared);
    case "function":
    case "custom":
      return { tools: declared, choice: forceTool(choice, declared) };
    default:
      throw noCounterpart(
        `Forcing a tool of type ${quoted(type)}`,
        choice.pathTo("type"),
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
function allowTools(choice: PlacedObject, declared: readonly DeclaredTool[]): ChosenTools {
  const isAllowed = readAllowed(choice);
  const tools = declared.filter(({ tool }) => isAllowed(tool));
  const mode = choice.optionalString("mode") ?? "auto";
  return { tools, choice: checkMode(mode, tools, "tool_choice.mode") };
}

/** An entry names a tool, with its namespace or without, or a whole namespace. */
function readAllowed(choice: PlacedObject): (tool: ToolName) => boolean {
  if (!choice.has("tools")) throw wrongType(choice.pathTo("tools"), "an array");
  const bare = {
    function: new Set<string>(),
    custom: new Set<string>(),
    namespace: new Set<string>(),
  };
  const qualified = new Set<string>();
  choice.each("tools", (reference) => {
    const type = reference.string("type");
    // Hosted tools are left out, as in `tools`.
    if (type !== "function" && type !== "custom" && type !== "namespace") return;
    const name = reference.string("name");
    const namespace = reference.optionalString("namespace");
    if (namespace === undefined) bare[type].add(name);
    else qualified.add(keyOf(type, namespace, name));
  });
  return ({ kind, namespace, name }) =>
    bare[kind].has(name) ||
    (namespace !== undefined &&
      (bare.namespace.has(namespace) || qualified.has(keyOf(kind, namespace, name))));
}

function keyOf(type: string, namespace: string, name: string): string {
  return JSON.stringify([type, namespace, name]);
}

/** Without a namespace, a tool outside namespaces is preferred to one of that name inside. */
function forceTool(choice: PlacedObject, declared: readonly DeclaredTool[]): ChosenTools["choice"] {
  const [type, name] = [choice.string("type"), choice.string("name")];
  const namespace = choice.optionalString("namespace");
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
