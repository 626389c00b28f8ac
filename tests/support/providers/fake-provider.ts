import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { createdSeconds, type RequestBody } from "./fake-provider-bodies.ts";
import { type Behaviour, play } from "./fake-provider-behaviour.ts";
import { GENERATIONS, type Generation, generate } from "./fake-provider-model.ts";

export type { Behaviour } from "./fake-provider-behaviour.ts";

/** One request as it arrived, recorded when its body was complete; the rest follows during the response. */
export interface RecordedRequest {
  method: string;
  /** with the query */
  path: string;
  headers: IncomingHttpHeaders;
  /** names and values in turn, as spelled on the wire */
  rawHeaders: string[];
  body: Buffer;
  /** the decoded body; `{}` when it is no JSON object */
  json: RequestBody;
  chunksSent: number;
  bytesSent: number;
  /** `gone`: the client closed the connection; `ended`: the response, complete or cut on purpose, was sent */
  state: "answering" | "ended" | "gone";
}

export interface FakeProviderOptions {
  /** the one model it serves; `fake-model` when left out */
  model?: string | undefined;
  /** 400 unless a request names exactly this model */
  strictModel?: boolean | undefined;
  /** 401 unless this comes as a bearer token */
  apiKey?: string | undefined;
  /** an address of this machine; 127.0.0.1 when left out */
  host?: string | undefined;
  port?: number | undefined;
  /** called for every generation; `normal` when absent or when it returns nothing */
  behave?: ((request: RecordedRequest) => Behaviour | undefined) | undefined;
}

/** Its operations, listed as vLLM does, so that they are not probed one by one. Not recorded. */
const listing = {
  paths: Object.fromEntries(GENERATIONS.map((operation) => [`/v1/${operation}`, {}])),
};

/** An OpenAI-compatible model server with a will of its own. Listens on 127.0.0.1. */
export interface FakeProvider extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  readonly port: number;
  readonly requests: RecordedRequest[];
  /** generations being worked on */
  readonly openGenerations: number;
  /** generations whose client went away before the end */
  readonly aborted: number;
  /** Resolves when `predicate` holds; looked at again whenever something happens here. Rejects after 10 s. */
  waitFor(predicate: (provider: FakeProvider) => boolean, timeoutMs?: number): Promise<void>;
  /** Ends every connection. */
  close(): Promise<void>;
}

export async function startFakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const provider = new RunningProvider(options);
  await provider.listen();
  return provider;
}

class RunningProvider implements FakeProvider {
  readonly requests: RecordedRequest[] = [];
  openGenerations = 0;
  aborted = 0;
  readonly #options: FakeProviderOptions;
  readonly #host: string;
  readonly #model: string;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #watchers = new Set<() => void>();
  #port = 0;

  constructor(options: FakeProviderOptions) {
    this.#options = options;
    this.#host = options.host ?? "127.0.0.1";
    this.#model = options.model ?? "fake-model";
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://${this.#host}:${this.#port}/v1`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.port ?? 0, this.#host, resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  waitFor(predicate: (provider: FakeProvider) => boolean, timeoutMs = 10_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!predicate(this)) return;
        settle();
        resolve();
      };
      const timer = setTimeout(() => {
        settle();
        const states = this.requests.map(({ path, state }) => `${path} ${state}`).join(", ");
        reject(
          new Error(
            `waited ${timeoutMs} ms in vain for ${String(predicate)}; requests: [${states}]`,
          ),
        );
      }, timeoutMs);
      const settle = () => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      this.#watchers.add(look);
      look();
    });
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #changed(): void {
    for (const look of this.#watchers) look();
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    message.socket.setNoDelay(true);
    const body = await readAll(message);
    if (body === undefined) return; // the client disconnected while it was still sending the request
    if (message.url === "/openapi.json") return sendJson(response, 200, listing);
    const request = record(message, body);
    this.requests.push(request);
    const operation = /^\/v1\/([^?]*)/.exec(request.path)?.[1] ?? "";
    const problem = this.#problem(request, operation);
    if (problem !== undefined) sendError(response, ...problem);
    else if (operation === "models")
      sendJson(response, 200, { object: "list", data: [this.#entry()] });
    else if (operation === `models/${this.#model}`) sendJson(response, 200, this.#entry());
    else await this.#generate(operation as Generation, request, response);
    if (request.state === "answering" && response.writableEnded) request.state = "ended";
    this.#changed();
  }

  /** Status, code and message of what is wrong with a request. */
  #problem(request: RecordedRequest, operation: string): [number, string, string] | undefined {
    const { apiKey, strictModel } = this.#options;
    if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) {
      return [401, "invalid_api_key", "Incorrect API key provided."];
    }
    const isModels = operation === "models" || operation === `models/${this.#model}`;
    const isGeneration = GENERATIONS.includes(operation);
    if (!isModels && !isGeneration) return [404, "not_found", `Unknown path ${request.path}`];
    const method = isModels ? "GET" : "POST";
    if (request.method !== method) return [405, "method_not_allowed", `Only ${method} here`];
    if (isGeneration && strictModel === true && request.json["model"] !== this.#model) {
      return [400, "model_not_found", `No model ${JSON.stringify(request.json["model"])} here`];
    }
    return undefined;
  }

  async #generate(
    operation: Generation,
    request: RecordedRequest,
    response: ServerResponse,
  ): Promise<void> {
    const closing = new AbortController();
    let isOwnEnd = false;
    this.openGenerations++;
    response.once("close", () => {
      this.openGenerations--;
      const isGone = !response.writableFinished && !isOwnEnd;
      if (isGone) this.aborted++;
      request.state = isGone ? "gone" : "ended";
      closing.abort();
      this.#changed();
    });
    this.#changed();
    const behaviour = this.#options.behave?.(request) ?? { kind: "normal" };
    const spoken = behaviour.kind === "normal" || behaviour.kind === "cut" ? behaviour : undefined;
    const wish = {
      model: this.#model,
      number: this.requests.length,
      words: spoken?.words,
      hasUsage: behaviour.kind !== "usage-absent",
    };
    const ownPieces = behaviour.kind === "normal" ? behaviour.pieces : undefined;
    const exchange = {
      response,
      isStream: request.json["stream"] === true && operation !== "embeddings",
      closed: closing.signal,
      onSent: (bytes: number) => {
        request.chunksSent++;
        request.bytesSent += bytes;
        this.#changed();
      },
      onOwnEnd: () => {
        isOwnEnd = true;
      },
    };
    await play(behaviour, exchange, (pieces = ownPieces) =>
      generate(operation, request.json, { ...wish, pieces }),
    );
  }

  #entry(): object {
    return { id: this.#model, object: "model", created: createdSeconds, owned_by: "vllm" };
  }
}

function record(message: IncomingMessage, body: Buffer): RecordedRequest {
  return {
    method: message.method ?? "",
    path: message.url ?? "",
    headers: message.headers,
    rawHeaders: message.rawHeaders,
    body,
    json: parseObject(body),
    chunksSent: 0,
    bytesSent: 0,
    state: "answering",
  };
}

async function readAll(message: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } catch {
    return undefined;
  }
}

function parseObject(body: Buffer): RequestBody {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null ? (value as RequestBody) : {};
  } catch {
    return {};
  }
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  sendJson(response, status, {
    error: { message, type: "invalid_request_error", param: null, code },
  });
}
