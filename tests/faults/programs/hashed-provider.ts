/**
 * A model server that keeps the hash of every request it received and of every response it sent, so that both can be compared
 * with what the other side has. What it says depends on the request alone.
 */
import { createHash, type Hash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createRandom } from "../seeded-random.ts";
import { serveHarness } from "./rpc.ts";

/** How it responds, as `hashed` within the first KiB of a request's body. */
export interface HashedWish {
  pieces: number;
  /** between pieces; 0: as fast as they are taken */
  delayMs: number;
  /** a piece has up to so many characters */
  pieceLength: number;
  seed: number;
}

/** One request, from its last byte on. */
export interface Generation {
  tag: string;
  /** SHA-256 of the body as it arrived */
  request: string;
  /** SHA-256 of what was sent so far */
  response: string;
  isComplete: boolean;
  isOpen: boolean;
}

const generations: (Omit<Generation, "response"> & { sent: Hash })[] = [];
const models = (process.argv[2] ?? "fake-model").split(",");
/** As vLLM lists them, which queues by itself. */
const listing = JSON.stringify({
  object: "list",
  data: models.map((id) => ({ id, object: "model", created: 1, owned_by: "vllm" })),
});
const operations = JSON.stringify({
  paths: { "/v1/chat/completions": {}, "/v1/responses": {}, "/v1/models": {} },
});
let openSockets = 0;

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json");
    response.end(request.url === "/openapi.json" ? operations : listing);
    return;
  }
  receive(request, (generation, wish) => speak(request, response, generation, wish));
});
server.on("connection", (socket) => {
  openSockets++;
  socket.setNoDelay(true).on("close", () => openSockets--);
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

function receive(
  request: IncomingMessage,
  then: (generation: (typeof generations)[number], wish: HashedWish & { stream: boolean }) => void,
): void {
  const hash = createHash("sha256");
  let start = "";
  request.on("data", (bytes: Buffer) => {
    hash.update(bytes);
    if (start.length < 1_024) start += bytes.toString("latin1", 0, 1_024);
  });
  request.on("end", () => {
    const found = /"hashed":(\{[^}]*\})/.exec(start)?.[1] ?? "{}";
    const generation = {
      ...{ tag: /"tag":"([^"]*)"/.exec(start)?.[1] ?? "", request: hash.digest("hex") },
      ...{ sent: createHash("sha256"), isComplete: false, isOpen: true },
    };
    generations.push(generation);
    const stream = start.includes('"stream":true');
    then(generation, { ...(JSON.parse(found) as HashedWish), stream });
  });
}

function speak(
  { url }: IncomingMessage,
  response: ServerResponse,
  generation: (typeof generations)[number],
  { pieces, delayMs, pieceLength, seed, stream }: HashedWish & { stream: boolean },
): void {
  const form = url === "/v1/responses" ? responsesForm : chatForm;
  const random = createRandom(seed);
  const send = (text: string) => {
    generation.sent.update(text);
    return response.write(text);
  };
  response.on("close", () => {
    generation.isOpen = false;
    generation.isComplete = response.writableFinished;
    clearTimeout(timer);
  });
  response.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" });
  let all = "";
  let said = 0;
  let timer: NodeJS.Timeout | undefined;
  const startMs = performance.now();
  if (stream) send(form.begin(generation.tag));
  const end = () => {
    send(stream ? form.end(generation.tag, all) : form.json(generation.tag, all));
    response.end();
  };
  const next = () => {
    while (said < pieces && startMs + said * delayMs <= performance.now()) {
      if (response.destroyed) return;
      const piece = wordsOf(random, pieceLength);
      said++;
      all += piece;
      if (!stream || send(form.piece(generation.tag, piece)) || delayMs > 0) continue;
      response.once("drain", next);
      return;
    }
    const leftMs = startMs + said * delayMs - performance.now();
    if (said < pieces) timer = setTimeout(next, Math.max(1, leftMs));
    else end();
  };
  next();
}

const letters = ["a", "e", "ß", "n", "😀", " ", "…", "t", "z\n", '"', "q", "0"];

/** Characters of one to four bytes, so that a cut falls between the bytes of one too. */
function wordsOf(random: () => number, length: number): string {
  const count = 1 + Math.floor(random() * length);
  const first = Math.floor(random() * letters.length);
  return Array.from({ length: count }, (_, at) => letters[(first + at * 7) % letters.length]).join(
    "",
  );
}

interface Form {
  begin(tag: string): string;
  piece(tag: string, text: string): string;
  end(tag: string, all: string): string;
  json(tag: string, all: string): string;
}

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

const chatForm: Form = {
  begin: (tag) => chatChunk(tag, { role: "assistant", content: "" }, null),
  piece: (tag, content) => chatChunk(tag, { content }, null),
  end: (tag) => `${chatChunk(tag, {}, "stop", usage)}data: [DONE]\n\n`,
  json: (tag, content) =>
    JSON.stringify({
      ...{ id: tag, object: "chat.completion", created: 1, model: "fake-model", usage },
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    }),
};

function chatChunk(
  id: string,
  delta: object,
  finish_reason: string | null,
  usageOf?: object,
): string {
  const choices = [{ index: 0, delta, finish_reason }];
  const value = { id, object: "chat.completion.chunk", created: 1, model: "fake-model", choices };
  return `data: ${JSON.stringify({ ...value, usage: usageOf })}\n\n`;
}

const responsesForm: Form = {
  begin: (tag) => responsesEvent("response.created", { response: responseOf(tag, "in_progress") }),
  piece: (tag, delta) =>
    responsesEvent("response.output_text.delta", {
      ...{ item_id: `msg_${tag}`, output_index: 0, content_index: 0, delta, logprobs: [] },
    }),
  end: (tag, all) =>
    responsesEvent("response.completed", { response: responseOf(tag, "completed", all) }),
  json: (tag, all) => JSON.stringify(responseOf(tag, "completed", all)),
};

function responsesEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...fields })}\n\n`;
}

function responseOf(tag: string, status: string, text?: string): object {
  const content = [{ type: "output_text", text, annotations: [], logprobs: [] }];
  const message = { id: `msg_${tag}`, type: "message", status, role: "assistant", content };
  return {
    ...{ id: `resp_${tag}`, object: "response", created_at: 1, status, model: "fake-model" },
    output: text === undefined ? [] : [message],
    usage: text === undefined ? null : { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
}

const handlers = {
  url: () => `http://127.0.0.1:${port}/v1`,
  generations: (): Generation[] =>
    generations.map(({ sent, ...generation }) => ({
      ...generation,
      response: sent.copy().digest("hex"),
    })),
  open: () => ({
    generations: generations.filter(({ isOpen }) => isOpen).length,
    sockets: openSockets,
  }),
};
export type HashedProviderHandlers = typeof handlers;
serveHarness(handlers);
