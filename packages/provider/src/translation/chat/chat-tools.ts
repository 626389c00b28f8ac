import type { JsonObject } from "@roomhub/protocol";
import type { ToolName, ToolNaming } from "../tool-naming.ts";

/** A tool that the client runs itself, ready to be sent as a chat function. */
export interface DeclaredTool {
  tool: ToolName;
  chatName: string;
  description: string | undefined;
  /** JSON schema */
  parameters: JsonObject;
  /** undefined when it was left out: the default of Responses is not that of chat */
  strict?: boolean | undefined;
  /** what the client says of the namespace as a whole */
  namespaceDescription?: string | undefined;
}

/** The tools that the model may call, and how. What is undefined is left to the provider. */
export interface ChosenTools {
  tools: readonly DeclaredTool[];
  choice: "auto" | "none" | "required" | ForcedTool | undefined;
  isParallel?: boolean | undefined;
}

interface ForcedTool {
  type: "function";
  function: { name: string };
}

export function named(tool: ToolName, naming: ToolNaming): { tool: ToolName; chatName: string } {
  return { tool, chatName: naming.chatName(tool) };
}

export function forcedTool({ chatName }: DeclaredTool): ForcedTool {
  return { type: "function", function: { name: chatName } };
}

/** Members of a chat request. None without a tool: model servers refuse a choice where there is nothing to choose. */
export function chatTools({ tools, choice, isParallel }: ChosenTools) {
  if (tools.length === 0) return {};
  const introduced = new Set<string>();
  return {
    tools: tools.map((declared) => ({
      type: "function",
      function: {
        name: declared.chatName,
        description: describe(declared, introduced),
        parameters: declared.parameters,
        strict: declared.strict,
      },
    })),
    tool_choice: choice,
    parallel_tool_calls: isParallel,
  };
}

/** The description of a namespace stands with its first tool only: it may be long, and the tools many. */
function describe(declared: DeclaredTool, introduced: Set<string>): string | undefined {
  const { namespace } = declared.tool;
  if (namespace === undefined || introduced.has(namespace)) return declared.description;
  introduced.add(namespace);
  const { description, namespaceDescription } = declared;
  const texts = [description, namespaceDescription].filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join("\n\n");
}
