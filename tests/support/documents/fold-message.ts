/** A message as clients put it together from its events, what Anthropic's SDK calls the final message. */
export interface FoldedMessage {
  content: FoldedBlock[];
  stop_reason: string | null;
  stop_sequence: string | null;
  usage: Record<string, number>;
}

export type FoldedBlock =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string; signature: string }
  /** `input` as text, since it may be cut */
  | { type: "tool_use"; id: string; name: string; input: string };

interface Event {
  type: string;
  message?: FoldedMessage;
  content_block?: { type: string; id: string; name: string };
  delta?: Record<string, string | null>;
  usage?: Record<string, number>;
}

/** @param events - of a stream that keeps the rules */
export function foldMessage(events: readonly unknown[]): FoldedMessage {
  const message: FoldedMessage = { content: [], stop_reason: null, stop_sequence: null, usage: {} };
  for (const event of events as readonly Event[]) {
    switch (event.type) {
      case "message_start":
        message.usage = { ...event.message?.usage };
        break;
      case "content_block_start":
        message.content.push(emptyBlock(event.content_block));
        break;
      case "content_block_delta":
        addTo(message.content.at(-1), event.delta ?? {});
        break;
      case "message_delta":
        Object.assign(message, event.delta);
        Object.assign(message.usage, event.usage);
        break;
    }
  }
  return message;
}

function emptyBlock({ type, id, name }: NonNullable<Event["content_block"]> = none): FoldedBlock {
  if (type === "thinking") return { type, thinking: "", signature: "" };
  return type === "tool_use" ? { type, id, name, input: "" } : { type: "text", text: "" };
}

const none = { type: "", id: "", name: "" };

function addTo(block: FoldedBlock | undefined, delta: Record<string, string | null>): void {
  if (block?.type === "text") block.text += delta["text"] ?? "";
  if (block?.type === "tool_use") block.input += delta["partial_json"] ?? "";
  if (block?.type !== "thinking") return;
  block.thinking += delta["thinking"] ?? "";
  block.signature += delta["signature"] ?? "";
}
