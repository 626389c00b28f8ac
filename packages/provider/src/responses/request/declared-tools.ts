import type { JsonObject } from "@roomhub/protocol";
import type { ToolName, ToolNaming } from "../../translation/tool-naming.ts";
import {
  objectAt,
  optionalArray,
  optionalBoolean,
  optionalObject,
  optionalString,
  requiredString,
  UntranslatableError,
} from "../../translation/read-field.ts";
import { chooseTools } from "./tool-choice.ts";

/** A tool the client runs itself, ready to be sent as a chat function. */
export interface DeclaredTool {
  tool: ToolName;
  chatName: string;
  description: string | undefined;
  /** JSON schema */
  parameters: JsonObject;
  /** undefined when it was left out: the default of Responses is not that of chat */
  strict: boolean | undefined;
  /** what the client says of the namespace as a whole */
  namespaceDescription: string | undefined;
}

interface Namespace {
  name: string;
  description: string | undefined;
}

/** Each tool of a namespace carries its name, so a long one would grow a body by as many times as it has tools. */
const maxNamespaceLength = 128;

/** Sent for a function without a schema; not every model server takes one that has none. */
const noParameters = { type: "object", properties: {} };

/** The one argument of a custom tool's function. Its way back is in `ToolName.kind`. */
const freeText = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

/**
 * The `tools` of a Responses request that exist in chat: functions, custom tools, and those inside namespaces.
 *
 * Every other type runs on the provider's side (web_search, mcp, …) and is left out: the model cannot call it, and
 * nothing of the conversation is lost. Whether one was demanded is for `tool-choice.ts`.
 */
function readDeclaredTools(body: JsonObject, naming: ToolNaming): readonly DeclaredTool[] {
  return readTools(optionalArray(body, "tools", "") ?? [], "tools", undefined, naming);
}

function readTools(
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
    throw new UntranslatableError(
      `${path}.name is longer than ${maxNamespaceLength} characters. Shorten it.`,
      `${path}.name`,
      "unsupported_value",
    );
  }
  return readTools(optionalArray(tool, "tools", path) ?? [], `${path}.tools`, namespace, naming);
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

function named(tool: ToolName, naming: ToolNaming): { tool: ToolName; chatName: string } {
  return { tool, chatName: naming.chatName(tool) };
}

interface ChatTools {
  tools: readonly ChatTool[] | undefined;
  tool_choice: unknown;
  parallel_tool_calls: boolean | undefined;
}

interface ChatTool {
  type: "function";
  function: {
    name: string;
    description: string | undefined;
    parameters: object;
    strict: boolean | undefined;
  };
}

/**
 * `tools`, `tool_choice` and `parallel_tool_calls` of a chat request. Without a tool none of them is sent: model servers
 * refuse a choice where there is nothing to choose.
 *
 * @param naming - learns the chat name of every declared tool, also of those that are not allowed this time
 */
export function translateTools(body: JsonObject, naming: ToolNaming): ChatTools {
  const { tools, choice } = chooseTools(body, readDeclaredTools(body, naming));
  const isParallel = optionalBoolean(body, "parallel_tool_calls", "");
  if (tools.length === 0) {
    return { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined };
  }
  return { tools: toChatTools(tools), tool_choice: choice, parallel_tool_calls: isParallel };
}

function toChatTools(tools: readonly DeclaredTool[]): ChatTool[] {
  const introduced = new Set<string>();
  return tools.map((declared) => ({
    type: "function",
    function: {
      name: declared.chatName,
      description: describe(declared, introduced),
      parameters: declared.parameters,
      strict: declared.strict,
    },
  }));
}

/** The description of a namespace stands with its first tool only: it may be long, and the tools many. */
function describe(declared: DeclaredTool, introduced: Set<string>): string | undefined {
  const { namespace } = declared.tool;
  if (namespace === undefined || introduced.has(namespace)) return declared.description;
  introduced.add(namespace);
  const { description, namespaceDescription } = declared;
  if (namespaceDescription === undefined) return description;
  return description === undefined
    ? namespaceDescription
    : `${description}\n\n${namespaceDescription}`;
}
