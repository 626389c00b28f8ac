import {
  type ChosenTools,
  type DeclaredTool,
  forcedTool,
  named,
} from "../../translation/chat/chat-tools.ts";
import {
  noCounterpart,
  type PlacedObject,
  quoted,
  UntranslatableError,
} from "../../translation/placed-object.ts";
import type { ToolNaming } from "../../translation/tool-naming.ts";

/**
 * Reads `tools` and `tool_choice`.
 *
 * @param naming - learns the chat name of every tool
 * @throws UntranslatableError for tools that run at Anthropic, and for a choice that no tool can fulfil
 */
export function readTools(request: PlacedObject, naming: ToolNaming): ChosenTools {
  const tools = request.each("tools", (tool) => readTool(tool, naming));
  return { tools, ...readChoice(request.optionalObject("tool_choice"), tools) };
}

function readTool(tool: PlacedObject, naming: ToolNaming): DeclaredTool {
  const type = tool.optionalString("type") ?? "custom";
  if (type !== "custom") {
    throw noCounterpart(
      `A tool of type ${quoted(type)}`,
      tool.pathTo("type"),
      "Declare tools that your program runs itself, with an input_schema.",
    );
  }
  return {
    ...named({ kind: "function", name: tool.string("name"), namespace: undefined }, naming),
    description: tool.optionalString("description"),
    parameters: tool.object("input_schema").value,
  };
}

function readChoice(
  choice: PlacedObject | undefined,
  tools: readonly DeclaredTool[],
): Pick<ChosenTools, "choice" | "isParallel"> {
  if (choice === undefined) return { choice };
  const isAlone = choice.optionalBoolean("disable_parallel_tool_use") ?? false;
  const isParallel = isAlone ? false : undefined;
  const type = choice.string("type");
  switch (type) {
    case "auto":
    case "none":
      return { choice: type, isParallel };
    case "any":
      if (tools.length === 0) throw impossible(choice.pathTo("type"), "no tool is declared");
      return { choice: "required", isParallel };
    case "tool": {
      const name = choice.string("name");
      const found = tools.find(({ tool }) => tool.name === name);
      if (found === undefined) {
        throw impossible(choice.pathTo("name"), `${quoted(name)} is not among tools`);
      }
      return { choice: forcedTool(found), isParallel };
    }
    default:
      throw impossible(
        choice.pathTo("type"),
        `${quoted(type)} is none of auto, any, tool and none`,
      );
  }
}

function impossible(path: string, reason: string): Error {
  return new UntranslatableError(
    `${path} cannot be fulfilled: ${reason}. Declare the tool or choose another.`,
    path,
  );
}
