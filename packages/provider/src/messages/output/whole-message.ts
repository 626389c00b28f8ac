import { type JsonObject, parseObject } from "@roomhub/protocol";
import type { TranslationSource } from "../../translation/surface-translation.ts";
import type { TranslatedMessage } from "../request/request.ts";
import { type BlockStart, MessageBlocks } from "./message-blocks.ts";
import { THINKING_SIGNATURE } from "./message-stream.ts";
import { type ChatChoice, NotChatError } from "../../translation/chat/chat-choice.ts";
import { failureIn, messageStop, type MessageStop, messageUsage } from "./message-end.ts";

/**
 * Translates a whole chat completion as a message: a stream of one chunk, so that both kinds of response say the same.
 *
 * @throws NotChatError when it failed, and for a call whose arguments are no JSON object
 */
export function translateMessage(
  choice: ChatChoice,
  request: TranslatedMessage,
  source: TranslationSource,
): Buffer {
  const failure = failureIn(choice.finishReason);
  if (failure !== undefined) throw new NotChatError(failure);
  const written: WrittenBlock[] = [];
  const blocks = new MessageBlocks(
    {
      open: (start) => void written.push({ start, text: "" }),
      add: (piece) => {
        const last = written.at(-1);
        if (last !== undefined) last.text += piece;
      },
      close: () => {},
    },
    request,
    source,
  );
  blocks.add(choice.content);
  blocks.end();
  const { hasCalls, hasRefusal } = blocks;
  const stop = messageStop({ ...choice, hasCalls, hasRefusal });
  const message = {
    id: source.newId("msg"),
    type: "message",
    role: "assistant",
    model: choice.model ?? request.model,
    content: written.map((block) => contentBlock(block, stop)),
    ...stop,
    usage: messageUsage(choice.usage, choice.timings),
  };
  return Buffer.from(JSON.stringify(message));
}

interface WrittenBlock {
  start: BlockStart;
  text: string;
}

function contentBlock({ start, text }: WrittenBlock, stop: MessageStop): object {
  switch (start.kind) {
    case "text":
      return { type: "text", text };
    case "thinking":
      return { type: "thinking", thinking: text, signature: THINKING_SIGNATURE };
    case "tool_use":
      return {
        type: "tool_use",
        id: start.id,
        name: start.name,
        input: inputOf(start, text, stop),
      };
  }
}

/** Models call functions without parameters with an empty string. */
function inputOf({ name }: { name: string }, text: string, stop: MessageStop): JsonObject {
  if (text.trim() === "") return {};
  const input = parseObject(text);
  if (input !== undefined) return input;
  if (stop.stop_reason === "max_tokens") return {};
  throw new NotChatError(
    `The provider's response has a call of ${JSON.stringify(name)} whose arguments are no JSON object.`,
  );
}
