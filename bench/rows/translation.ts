import { randomUUID } from "node:crypto";
import { messageStream } from "../../packages/provider/src/messages/output/message-stream.ts";
import { translateMessages } from "../../packages/provider/src/messages/request/request.ts";
import { responsesStream } from "../../packages/provider/src/responses/output/stream.ts";
import { translateRequest } from "../../packages/provider/src/responses/request/request.ts";
import type { ChatStream } from "../../packages/provider/src/translation/chat/chat-stream.ts";
import { tokenStream } from "../../tests/support/providers/fast-provider.ts";
import { measured, type Row } from "../row.ts";
import { median } from "../figures/spread.ts";

const tokens = 1_000;

const source = {
  newId: (prefix: string) => `${prefix}_${randomUUID()}`,
  nowSeconds: () => 1,
};

/** In this process: a chat stream with a token in each chunk, translated into a Responses stream. */
export const translation: Row = rowOf({
  id: "17",
  title: "translation of a chat stream into a Responses stream: CPU per chunk",
  start: () => {
    const body = Buffer.from('{"model":"fake-model","input":"hi","stream":true}');
    return responsesStream(translateRequest(body), source);
  },
});

/** The same into Anthropic's events. */
export const messagesTranslation: Row = rowOf({
  id: "17b",
  title: "translation of a chat stream into a messages stream: CPU per chunk",
  start: () => {
    const messages = [{ role: "user", content: "hi" }];
    const body = Buffer.from(JSON.stringify({ model: "fake-model", messages, stream: true }));
    return messageStream(translateMessages(body, undefined), source);
  },
});

function rowOf({ id, title, start }: { id: string; title: string; start: () => ChatStream }): Row {
  return {
    id,
    title,
    seconds: { full: 2, quick: 1 },
    run(world) {
      const runs = world.either(40, 15);
      // The first ones are compiled while they run.
      const costs = Array.from({ length: runs }, () => translate(start())).slice(5);
      const value = median(costs);
      return Promise.resolve(measured([{ what: "per chunk", value, goal: 15, unit: "µs" }]));
    },
  };
}

/** @returns µs of CPU per chunk */
function translate(stream: ChatStream): number {
  const chunks = [...tokenStream(tokens)];
  const before = process.cpuUsage();
  let length = stream.start().length;
  for (const chunk of chunks) length += stream.push(chunk).length;
  const { text, isComplete } = stream.end();
  const { user, system } = process.cpuUsage(before);
  if (!isComplete || length + text.length < tokens * 100) throw new Error("it was not translated");
  return (user + system) / chunks.length;
}
