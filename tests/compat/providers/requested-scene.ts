import type { Scene } from "./recordings.ts";

/** A request's body, loosely: a recorded server looks at a few fields. */
export type RecordedRequest = Record<string, unknown>;

/** The recording for a request: by the tool's result first, then by the offered tools, then by the requested format. */
export function sceneFor(body: RecordedRequest): Scene {
  if (hasToolResult(body)) return "text";
  if (Array.isArray(body["tools"]) && body["tools"].length > 0) return "tool-call";
  return wantsJson(body) ? "structured" : "text";
}

/** In any of the three dialects: a `tool` message, a `function_call_output` item, a `tool_result` block. */
function hasToolResult(body: RecordedRequest): boolean {
  const turns = [body["messages"], body["input"]].flat() as (
    | RecordedRequest
    | string
    | undefined
  )[];
  return turns.some((turn) => {
    if (typeof turn !== "object") return false;
    if (turn["role"] === "tool" || turn["type"] === "function_call_output") return true;
    const content = turn["content"];
    return (
      Array.isArray(content) &&
      content.some((part: RecordedRequest) => part["type"] === "tool_result")
    );
  });
}

function wantsJson(body: RecordedRequest): boolean {
  const format =
    body["response_format"] ??
    (body["text"] as RecordedRequest | undefined)?.["format"] ??
    undefined;
  const type = (format as RecordedRequest | undefined)?.["type"];
  return type === "json_schema" || type === "json_object";
}
