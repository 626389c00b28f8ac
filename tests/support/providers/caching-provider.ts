import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One generation, by what the model server had in its cache of the prompt. */
interface CachedGeneration {
  /** of the prompt */
  messages: number;
  /** of its first messages, computed here before */
  warmMessages: number;
}

/** A model server on 127.0.0.1 that keeps every prompt it has computed, and takes its time for the rest of one. */
export interface CachingProvider extends AsyncDisposable {
  /** an endpoint, `…/v1` */
  readonly url: string;
  readonly generations: readonly CachedGeneration[];
}

interface ChatBody {
  messages?: { role: string; content: string }[];
  stream?: boolean;
}

const models = '{"object":"list","data":[{"id":"fake-model","object":"model","owned_by":"vllm"}]}';

/** @param bytesPerMs - of a prompt that is not in the cache */
export async function startCachingProvider(bytesPerMs: number): Promise<CachingProvider> {
  const generations: CachedGeneration[] = [];
  const cache = new Set<string>();
  async function generate(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") {
      sendJson(response, models);
      return;
    }
    const body = JSON.parse(await textOf(request)) as ChatBody;
    const texts = (body.messages ?? []).map(({ role, content }) => `${role}: ${content}\n`);
    const beginnings = texts.map((_, last) => texts.slice(0, last + 1).join(""));
    const warmMessages = beginnings.findLastIndex((text) => cache.has(text)) + 1;
    for (const text of beginnings) cache.add(text);
    generations.push({ messages: texts.length, warmMessages });
    const coldBytes = texts.slice(warmMessages).join("").length;
    setTimeout(() => respond(response, body.stream === true), coldBytes / bytesPerMs);
  }
  const server = createServer((request, response) => void generate(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    generations,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What the model says, in one piece. */
export const cachingReply = "Indeed, and there is more to it.";

function respond(response: ServerResponse, isStream: boolean): void {
  const base = { id: "chatcmpl-1", created: 0, model: "fake-model" };
  const message = { role: "assistant", content: cachingReply };
  if (!isStream) {
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    sendJson(response, JSON.stringify({ ...base, object: "chat.completion", choices }));
    return;
  }
  const choices = [{ index: 0, delta: message, finish_reason: "stop" }];
  const event = JSON.stringify({ ...base, object: "chat.completion.chunk", choices });
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`data: ${event}\n\ndata: [DONE]\n\n`);
}

function sendJson(response: ServerResponse, json: string): void {
  response.writeHead(200, { "content-type": "application/json" }).end(json);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
