import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Job, Machine, type MachineSpec } from "../machine.ts";
import { bytesPerToken, type RoomRequest } from "../traffic.ts";

/** One request as the model server saw it, in ms since the server's start. */
export interface ServedJob {
  startedMs: number;
  endMs: number;
  promptBytes: number;
  warmBytes: number;
}

/** A model server on 127.0.0.1 that takes as long as its machine does. */
export interface SlotServer extends AsyncDisposable {
  /** an endpoint, `…/v1` */
  readonly url: string;
  readonly served: readonly ServedJob[];
}

interface ChatBody {
  messages: { content: string }[];
  max_tokens: number;
}

const models = '{"object":"list","data":[{"id":"fake-model","object":"model"}]}';
const manyAtOnce = 64;

/** Generation, slots and prompt caches of a {@link Machine}, in real time. */
export async function startSlotServer(spec: MachineSpec): Promise<SlotServer> {
  const clock = new MachineClock(new Machine(spec, manyAtOnce));
  const server = createServer((request, response) => {
    if (request.method === "GET" && request.url === "/v1/models") sendModels(response);
    else if (request.url === "/v1/chat/completions") void chat(request, response, clock);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    served: clock.served,
    async [Symbol.asyncDispose]() {
      clock.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Lets a machine's time pass as real time does. A timer that is late delays a response, not the machine. */
class MachineClock {
  readonly served: ServedJob[] = [];
  readonly #machine: Machine;
  readonly #responses = new Map<Job, ServerResponse>();
  readonly #zeroMs = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  start(request: RoomRequest, response: ServerResponse): void {
    this.#pass();
    this.#responses.set(this.#machine.start(request, this.#nowMs()), response);
    this.#pass();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #nowMs(): number {
    return performance.now() - this.#zeroMs;
  }

  #pass(): void {
    clearTimeout(this.#timer);
    const nowMs = this.#nowMs();
    for (let atMs = this.#machine.nextMs(); atMs <= nowMs; atMs = this.#machine.nextMs()) {
      this.#advance(atMs);
    }
    this.#advance(nowMs);
    const waitMs = this.#machine.nextMs() - nowMs;
    if (waitMs < Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(() => this.#pass(), Math.ceil(waitMs));
    }
  }

  #advance(atMs: number): void {
    for (const { kind, job } of this.#machine.advance(atMs)) {
      const response = this.#responses.get(job);
      if (kind === "first") {
        response?.write(chunk(job.request, 1));
        continue;
      }
      this.#responses.delete(job);
      response?.end(`${chunk(job.request, job.request.responseTokens - 1)}data: [DONE]\n\n`);
      const { startedMs, warmBytes, request } = job;
      this.served.push({ startedMs, endMs: atMs, promptBytes: request.promptBytes, warmBytes });
    }
  }
}

async function chat(
  request: IncomingMessage,
  response: ServerResponse,
  clock: MachineClock,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const bytes of request) chunks.push(bytes as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Partial<ChatBody>;
  if (body.messages === undefined || body.max_tokens === undefined) {
    // What a participant sends to find out whether there is a chat.
    const error = { message: "messages and max_tokens are required" };
    response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  clock.start(roomRequestOf(body.messages, body.max_tokens), response);
}

/** The texts begin with the numbers of their system prompt and their conversation. */
function roomRequestOf(messages: ChatBody["messages"], responseTokens: number): RoomRequest {
  const [system, first] = messages.map(({ content }) => content);
  const number = (text: string | undefined) => Number(/\d+/.exec(text ?? "")?.[0] ?? 0);
  return {
    conversation: {
      ...{ id: number(first), system: number(system), systemBytes: system?.length ?? 0 },
      ...{ startMs: 0, turns: [], borders: [] },
    },
    turn: (messages.length - 2) / 2,
    promptBytes: messages.reduce((sum, { content }) => sum + content.length, 0),
    responseTokens,
    arrivedMs: 0,
  };
}

function sendModels(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).end(models);
}

function chunk({ conversation }: RoomRequest, tokens: number): string {
  const content = "a".repeat(tokens * bytesPerToken);
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  const id = `chatcmpl-${conversation.id}`;
  return `data: ${JSON.stringify({ id, object: "chat.completion.chunk", model: "fake-model", choices })}\n\n`;
}
