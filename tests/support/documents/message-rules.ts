/**
 * The order of events that Anthropic's manual gives for a streamed message (docs.claude.com, "Streaming messages"), and
 * what readers rely on beyond it: each block is started and stopped once, one after the other, with consecutive indices.
 */

type Json = Readonly<Record<string, unknown>>;

/** By the type of a block: the deltas that it may have. */
const deltas: Readonly<Record<string, readonly string[]>> = {
  text: ["text_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
};
const stopReasons = ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"];

/**
 * @param events - the data of a whole stream's events
 * @returns what is wrong, in words; empty when nothing is
 */
export function checkMessageEvents(events: readonly unknown[]): string[] {
  const problems: string[] = [];
  let place: "before" | "between" | "inside" | "after delta" | "over" = "before";
  let next = 0;
  let block: { type: string; isSigned: boolean } | undefined;
  let hasCall = false;
  const ids = new Set<unknown>();
  const must = (isRight: boolean, what: string) => {
    if (!isRight) problems.push(what);
  };

  for (const [number, value] of events.entries()) {
    const event = value as Json;
    const where = `event ${number}, ${String(event["type"])}:`;
    must(place !== "over", `${where} follows the end`);
    switch (event["type"]) {
      case "ping":
        must(place !== "before", `${where} is before message_start`);
        break;
      case "message_start": {
        must(place === "before", `${where} is not the first`);
        problems.push(...checkStart(event["message"] as Json).map((what) => `${where} ${what}`));
        place = "between";
        break;
      }
      case "content_block_start": {
        must(place === "between", `${where} is ${place}`);
        must(event["index"] === next, `${where} has index ${String(event["index"])}, not ${next}`);
        const start = event["content_block"] as Json;
        block = { type: String(start["type"]), isSigned: false };
        must(block.type in deltas, `${where} is of type ${block.type}`);
        if (block.type === "tool_use") {
          hasCall = true;
          must(
            /^[\w-]{1,150}$/.test(String(start["id"])),
            `${where} has id ${String(start["id"])}`,
          );
          must(!ids.has(start["id"]), `${where} repeats an id`);
          ids.add(start["id"]);
          must(typeof start["name"] === "string", `${where} has no name`);
          must(JSON.stringify(start["input"]) === "{}", `${where} begins with input`);
        }
        place = "inside";
        break;
      }
      case "content_block_delta": {
        const delta = event["delta"] as Json;
        const type = String(delta["type"]);
        must(place === "inside" && event["index"] === next, `${where} is ${place}`);
        must(deltas[block?.type ?? ""]?.includes(type) === true, `${where} is a ${type}`);
        if (block !== undefined) {
          must(!block.isSigned, `${where} follows the signature`);
          block.isSigned = type === "signature_delta";
        }
        break;
      }
      case "content_block_stop":
        must(place === "inside" && event["index"] === next, `${where} is ${place}`);
        must(block?.type !== "thinking" || block.isSigned, `${where} thinking is not signed`);
        next++;
        place = "between";
        break;
      case "message_delta": {
        must(place === "between", `${where} is ${place}`);
        const { stop_reason: reason } = event["delta"] as Json;
        const { output_tokens: output } = event["usage"] as Json;
        must(stopReasons.includes(String(reason)), `${where} has the reason ${String(reason)}`);
        must(reason !== "tool_use" || hasCall, `${where} tool_use without a call`);
        must(reason !== "end_turn" || !hasCall, `${where} end_turn with a call`);
        must(typeof output === "number", `${where} has no output_tokens`);
        place = "after delta";
        break;
      }
      case "message_stop":
        must(place === "after delta", `${where} is ${place}`);
        place = "over";
        break;
      case "error": {
        const { type, message } = (event["error"] ?? {}) as Json;
        must(typeof type === "string" && typeof message === "string", `${where} says nothing`);
        place = "over";
        break;
      }
      default:
        problems.push(`${where} is unknown`);
    }
  }
  must(place === "over", `the stream ends ${place}`);
  return problems;
}

function checkStart(message: Json): string[] {
  const problems: string[] = [];
  const usage = (message["usage"] ?? {}) as Json;
  if (message["type"] !== "message" || message["role"] !== "assistant") problems.push("no message");
  if (!String(message["id"]).startsWith("msg_")) problems.push("no id");
  if (typeof message["model"] !== "string") problems.push("no model");
  if (JSON.stringify(message["content"]) !== "[]") problems.push("has content");
  if (message["stop_reason"] !== null) problems.push("has a reason");
  if (typeof usage["input_tokens"] !== "number") problems.push("no usage");
  return problems;
}
