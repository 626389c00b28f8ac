import type { JsonObject } from "@roomhub/protocol";
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

interface ChatTools {
  tools: readonly ChatTool[] | undefined;
  tool_choice: "auto" | "none" | "required" | ChatFunctionChoice | undefined;
  /** false, or left to the server */
  parallel_tool_calls: false | undefined;
}

interface ChatTool {
  type: "function";
  function: { name: string; description: string | undefined; parameters: JsonObject };
}

interface ChatFunctionChoice {
  type: "function";
  function: { name: string };
}

/**
 * `tools` and `tool_choice` as chat has them. Without a tool neither is sent: model servers refuse a choice where there is
 * nothing to choose.
 *
 * @param naming - learns the chat name of every tool
 * @throws UntranslatableError for tools that run at Anthropic, and for a choice that no tool can fulfil
 */
export function translateTools(request: JsonObject, naming: ToolNaming): ChatTools {
  const declared = optionalArray(request, "tools", "") ?? [];
  const tools = declared.map((entry, index) => readTool(entry, `tools[${index}]`, naming));
  const names = new Map(tools.map(({ name, tool }) => [name, tool]));
  const choice = readChoice(request, names);
  if (tools.length === 0) {
    return { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined };
  }
  return { tools: tools.map(({ tool }) => tool), ...choice };
}

function readTool(
  entry: unknown,
  path: string,
  naming: ToolNaming,
): { name: string; tool: ChatTool } {
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
    name,
    tool: {
      type: "function",
      function: {
        name: naming.chatName({ kind: "function", name, namespace: undefined }),
        description: optionalString(tool, "description", path),
        parameters: objectAt(tool["input_schema"], `${path}.input_schema`),
      },
    },
  };
}

function readChoice(
  request: JsonObject,
  tools: ReadonlyMap<string, ChatTool>,
): Pick<ChatTools, "tool_choice" | "parallel_tool_calls"> {
  if (isAbsent(request["tool_choice"])) {
    return { tool_choice: undefined, parallel_tool_calls: undefined };
  }
  const path = "tool_choice";
  const choice = objectAt(request["tool_choice"], path);
  const isAlone = optionalBoolean(choice, "disable_parallel_tool_use", path) ?? false;
  const parallel_tool_calls = isAlone ? false : undefined;
  const type = requiredString(choice, "type", path);
  switch (type) {
    case "auto":
    case "none":
      return { tool_choice: type, parallel_tool_calls };
    case "any":
      if (tools.size === 0) throw unfulfillable(`${path}.type`, "no tool is declared");
      return { tool_choice: "required", parallel_tool_calls };
    case "tool": {
      const name = requiredString(choice, "name", path);
      const tool = tools.get(name);
      if (tool === undefined) {
        throw unfulfillable(`${path}.name`, `${quoted(name)} is not among tools`);
      }
      const named = { type: "function", function: { name: tool.function.name } } as const;
      return { tool_choice: named, parallel_tool_calls };
    }
    default:
      throw unfulfillable(`${path}.type`, `${quoted(type)} is none of auto, any, tool and none`);
  }
}

function unfulfillable(path: string, reason: string): UntranslatableError {
  return new UntranslatableError(
    `${path} cannot be fulfilled: ${reason}. Declare the tool or choose another.`,
    path,
    "unsupported_value",
  );
}
