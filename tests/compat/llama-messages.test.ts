import { parseChatCompletion } from "../../packages/provider/src/translation/chat/chat-choice.ts";
import { expect, test } from "vitest";
import {
  messageEventsIn,
  streamed,
  translated,
} from "../../packages/provider/src/messages/message.fixture.ts";
import { translateMessage } from "../../packages/provider/src/messages/output/whole-message.ts";
import { countingSource } from "../../packages/provider/src/responses/response.fixture.ts";
import { type FoldedMessage, foldMessage } from "../support/documents/fold-message.ts";
import { checkMessageEvents } from "../support/documents/message-rules.ts";
import { llamaRecording } from "../support/providers/recorded-llama.ts";

const thinking = { thinking: { type: "adaptive" } };

/** Without what differs from run to run: ids, signatures, and how the blanks in a call's input are. */
function blocksOf({ content, stop_reason, stop_sequence }: FoldedMessage) {
  return {
    stop_reason,
    stop_sequence,
    content: content.map((block) => ({
      ...block,
      ...(block.type === "tool_use" ? { id: "", input: inputIn(block.input) } : {}),
      ...(block.type === "thinking" ? { signature: "" } : {}),
    })),
  };
}

/** Of a JSON message it is an object, of a stream it is text. */
function inputIn(input: unknown): unknown {
  return typeof input === "string" ? JSON.parse(input) : input;
}

/** `input_tokens` and the cached ones depend on what was in the cache when each was recorded. */
function promptOf({ usage }: FoldedMessage): number {
  return (usage["input_tokens"] ?? 0) + (usage["cache_read_input_tokens"] ?? 0);
}

test.each(["oslo", "oslo-tool"])(
  "the same request to llama.cpp, %s, gives the same blocks natively and by its chat",
  (name) => {
    const native = JSON.parse(llamaRecording(`${name}-messages`).body.toString()) as FoldedMessage;
    const made = translateMessage(
      parseChatCompletion(llamaRecording(`${name}-chat`).body),
      translated(thinking),
      countingSource(),
    );
    const message = JSON.parse(made.toString()) as FoldedMessage;
    expect(blocksOf(message)).toEqual(blocksOf(native));
    expect(promptOf(message)).toBe(promptOf(native));
  },
);

test.each(["oslo", "oslo-tool"])(
  "so does the same stream, %s, with a usage or llama.cpp's own counts",
  (name) => {
    const recorded = llamaRecording(`${name}-messages-stream`).body.toString();
    const native = foldMessage(messageEventsIn(recorded));
    for (const kind of ["chat-stream", "chat-stream-usage"]) {
      const { events } = streamed(llamaRecording(`${name}-${kind}`).body.toString(), thinking);
      expect(checkMessageEvents(events)).toEqual([]);
      const message = foldMessage(events);
      expect(blocksOf(message)).toEqual(blocksOf(native));
      expect(promptOf(message)).toBe(promptOf(native));
      expect(message.usage["output_tokens"]).toBeGreaterThan(0);
    }
  },
);
