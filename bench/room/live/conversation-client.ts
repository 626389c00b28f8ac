import { setTimeout as pause } from "node:timers/promises";
import { bytesPerToken, type Conversation } from "../traffic.ts";

/** One response as its client received it, in ms since the beginning. */
export interface Received {
  arrivedMs: number;
  firstMs: number;
  endMs: number;
}

/** Sends the turns of a conversation, each after the response to the one before. */
export async function converse(
  conversation: Conversation,
  baseUrl: string,
  zeroMs: number,
): Promise<Received[]> {
  const { id, system, systemBytes, startMs, turns } = conversation;
  const messages = [{ role: "system", content: textOf(`system ${system};`, systemBytes) }];
  const received: Received[] = [];
  await pause(Math.max(0, zeroMs + startMs - performance.now()));
  for (const { userBytes, responseTokens, thinkMs } of turns) {
    messages.push({ role: "user", content: textOf(`conversation ${id};`, userBytes) });
    const body = { model: "fake-model", stream: true, max_tokens: responseTokens, messages };
    received.push(await request(baseUrl, id, JSON.stringify(body), zeroMs));
    messages.push({ role: "assistant", content: "a".repeat(responseTokens * bytesPerToken) });
    await pause(thinkMs);
  }
  return received;
}

/** @throws Error when the response is not a complete stream */
async function request(
  baseUrl: string,
  session: number,
  body: string,
  zeroMs: number,
): Promise<Received> {
  const headers = { "content-type": "application/json", "x-session-id": String(session) };
  const arrivedMs = performance.now() - zeroMs;
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
  let firstMs: number | undefined;
  let text = "";
  for await (const bytes of response.body ?? []) {
    text = text.slice(-64) + Buffer.from(bytes).toString("latin1");
    if (text.includes('"content"')) firstMs ??= performance.now() - zeroMs;
  }
  if (response.status !== 200 || firstMs === undefined || !text.includes("[DONE]")) {
    throw new Error(`the response to conversation ${session} is not complete: ${text}`);
  }
  return { arrivedMs, firstMs, endMs: performance.now() - zeroMs };
}

function textOf(beginning: string, bytes: number): string {
  return beginning.repeat(Math.ceil(bytes / beginning.length)).slice(0, bytes);
}
