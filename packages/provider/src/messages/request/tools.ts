import type { JsonObject } from "@roomhub/protocol";
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
  optionalString,
  quoted,
  requiredString,
  UntranslatableError,
} from "../../translation/read-field.ts";
import type { ToolNaming } from "../../translation/tool-naming.ts";

/**
 * Reads `tools` and `tool_choice`.
 *
 * @param naming - learns the chat name of every tool
 * @throws UntranslatableError for tools that run at Anthropic, and for a choice that no tool can fulfil
 */
export function readTools(request: JsonObject, naming: ToolNaming): ChosenTools {
  const declared = optionalArray(request, "tools", "") ?? [];
  const tools = declared.map((entry, index) => readTool(entry, `tools[${index}]`, naming));
  return { tools, ...readChoice(request, tools) };
}

function readTool(entry: unknown, path: string, naming: ToolNaming): DeclaredTool {
  const tool = objectAt(entry, path);
  const type = optionalString(tool, "type", path) ?? "custom";
  if (type !== "custom") {
    throw noCounterpart(
      `A tool of type ${quoted(type)}`,
      `${path}.type`,
      "Declare tools that your program runs itself, with an input_schema.",
    );
  }
  const name = requiredString(tool, "name", path);
  return {
    ...named({ kind: "function", name, namespace: undefined }, naming),
    description: optionalString(tool, "description", path),
    parameters: objectAt(tool["input_schema"], `${path}.input_schema`),
  };
}

function readChoice(
  request: JsonObject,
  tools: readonly DeclaredTool[],
): Pick<ChosenTools, "choice" | "isParallel"> {
  if (isAbsent(request["tool_choice"])) return { choice: undefined };
  const path = "tool_choice";
  const choice = objectAt(request["tool_choice"], path);
  const isAlone = optionalBoolean(choice, "disable_parallel_tool_use", path) ?? false;
  const isParallel = isAlone ? false : undefined;
  const type = requiredString(choice, "type", path);
  switch (type) {
    case "auto":
    case "none":
      return { choice: type, isParallel };
    case "any":
      if (tools.length === 0) throw impossible(`${path}.type`, "no tool is declared");
      return { choice: "required", isParallel };
    case "tool": {
      const name = requiredString(choice, "name", path);
      const found = tools.find(({ tool }) => tool.name === name);
      if (found === undefined) {
        throw impossible(`${path}.name`, `${quoted(name)} is not among tools`);
      }
      return { choice: forcedTool(found), isParallel };
    }
    default:
      throw impossible(`${path}.type`, `${quoted(type)} is none of auto, any, tool and none`);
  }
}

function impossible(path: string, reason: string): Error {
  return new UntranslatableError(
    `${path} cannot be fulfilled: ${reason}. Declare the tool or choose another.`,
    path,
  );
}
