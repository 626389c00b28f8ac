import { type DeclaredTool, readDeclaredTools } from "./declared-tools.ts";
import { type JsonObject, optionalBoolean } from "../../translation/read-field.ts";
import { chooseTools } from "./tool-choice.ts";
import type { ToolNaming } from "../../translation/tool-naming.ts";

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
