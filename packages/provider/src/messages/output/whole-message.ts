import { isObject, type JsonObject } from "@roomhub/protocol";
import type { TranslationSource } from "../../translation/surface-translation.ts";
import { CallIds } from "../request/call-ids.ts";
import type { TranslatedMessage } from "../request/request.ts";
import { type BlockStart, MessageBlocks } from "./message-blocks.ts";
import { THINKING_SIGNATURE } from "./message-stream.ts";
import type { ReasoningField } from "../../translation/chat/chat-message.ts";
import { parseChatCompletion, NotChatError } from "../../translation/chat/chat-choice.ts";
import { failureIn, messageStop, type MessageStop, messageUsage } from "./message-end.ts";

/**
 * Translates a whole chat completion as a message: a stream of one chunk, so that both kinds of response say the same.
 *
 * @param body - the provider's, of status 2xx; @param onReasoning - called with its field for reasoning, when it sent some
 * @throws NotChatError also for a call whose arguments are no JSON object
 */
export function translateMessage(
  body: Buffer,
  request: TranslatedMessage,
  source: TranslationSource,
  onReasoning: (field: ReasoningField) => void,
): Buffer {
  const choice = parseChatCompletion(body);
  if (choice.reasoningField !== undefined) onReasoning(choice.reasoningField);
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
    {
      toolNames: request.toolNames,
      callIds: new CallIds(request.callIds, () => source.newId("toolu")),
      showsThinking: request.showsThinking,
    },
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

/** Functions without parameters are called with nothing at all. */
function inputOf({ name }: { name: string }, text: string, stop: MessageStop): JsonObject {
  if (text.trim() === "") return {};
  const input = parse(text);
  if (isObject(input)) return input;
  if (stop.stop_reason === "max_tokens") return {};
  throw new NotChatError(
    `The provider's response has a call of ${JSON.stringify(name)} whose arguments are no JSON object.`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // the caller knows what that means
  }
}
