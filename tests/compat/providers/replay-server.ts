import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createGate, within } from "../../support/waiting.ts";
import { type RecordedRequest, sceneFor } from "./requested-scene.ts";
import {
  anthropicRefusal,
  type ProviderShape,
  type RecordedAnswer,
  type ShapeSurface,
} from "./provider-shape.ts";
import { type Dialect, type Recording, type Recordings, recordingsOf } from "./recordings.ts";
import { REFUSED_PROMPT } from "./script.ts";

/** A request for a generation, as the server got it. */
export interface Asked {
  /** below the base URL */
  surface: string;
  body: RecordedRequest;
}

/** A response that stops after its first words until it is released. */
interface HeldAnswer {
  /** the prompt that requests it */
  prompt: string;
  release(): void;
  /** Resolves when the client left before the end. Rejects when it does not, in 10 s. */
  aborted(): Promise<void>;
}

/** One kind of model server, which replays its recordings. Listens on 127.0.0.1. */
export interface ReplayServer extends AsyncDisposable {
  readonly shape: ProviderShape;
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  readonly asked: readonly Asked[];
  hold(): HeldAnswer;
  /** @returns a prompt that is refused the first time, with 503 and `retry-after-ms: 1` */
  busyOnce(): string;
}

export async function startReplayServer(shape: ProviderShape): Promise<ReplayServer> {
  const server = new RunningServer(shape);
  await server.listen();
  return server;
}

interface Held {
  released: Promise<void>;
  noteAborted: () => void;
}

class RunningServer implements ReplayServer {
  readonly shape: ProviderShape;
  readonly asked: Asked[] = [];
  readonly #recordings: Recordings;
  readonly #fingerprints: Record<string, object>;
  readonly #held = new Map<string, Held>();
  readonly #busy = new Set<string>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(shape: ProviderShape) {
    this.shape = shape;
    this.#recordings = recordingsOf(shape);
    const fingerprints = this.#recordings.file(`${shape.fingerprints}.json`);
    this.#fingerprints = JSON.parse(fingerprints) as Record<string, object>;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  hold(): HeldAnswer {
    const prompt = `Recite slowly, number ${this.#held.size}.`;
    const release = createGate();
    const abort = createGate();
    this.#held.set(prompt, { released: release.opened, noteAborted: () => abort.open() });
    return {
      prompt,
      release: () => release.open(),
      aborted: () => within(abort.opened, "the generation to be aborted"),
    };
  }

  busyOnce(): string {
    const prompt = `Are you there, number ${this.asked.length}?`;
    this.#busy.add(prompt);
    return prompt;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "" } = request;
    if (this.shape.server !== undefined) response.setHeader("server", this.shape.server);
    const fingerprint = this.#fingerprints[path];
    if (method === "GET" && path === "/v1/models") {
      send(response, { status: 200, body: this.#recordings.file("models.json") });
    } else if (method === "GET" && fingerprint !== undefined) {
      send(response, { status: 200, body: fingerprint });
    } else {
      const surface = this.shape.surfaces.find((surface) => path === `/v1/${surface}`);
      if (method === "POST" && surface !== undefined) {
        await this.#generate(surface, (await json(request)) as RecordedRequest, response);
      } else {
        request.resume();
        send(response, this.shape.unknownPath(method, path));
      }
    }
  }

  async #generate(
    surface: ShapeSurface,
    body: RecordedRequest,
    response: ServerResponse,
  ): Promise<void> {
    const refusal = this.#refusalOf(surface, body);
    if (refusal !== undefined) {
      if (refusal.status === 503) response.setHeader("retry-after-ms", "1");
      send(response, refusal);
      return;
    }
    switch (surface) {
      case "embeddings":
        send(response, { status: 200, body: this.#recordings.file("embeddings.json") });
        break;
      case "messages/count_tokens":
        send(response, { status: 200, body: { input_tokens: this.shape.says.usage.inputTokens } });
        break;
      case "chat/completions":
        await this.#replay("chat", body, response);
        break;
      case "responses":
      case "messages":
        await this.#replay(surface, body, response);
    }
  }

  #refusalOf(surface: ShapeSurface, body: RecordedRequest): RecordedAnswer | undefined {
    if (Object.keys(body).length === 0) return this.shape.emptyBody;
    this.asked.push({ surface, body });
    if (says(body, REFUSED_PROMPT)) {
      const { refusal, messagesRefusal = anthropicRefusal } = this.shape;
      return surface === "messages" ? messagesRefusal : refusal;
    }
    const busy = [...this.#busy].find((prompt) => says(body, prompt));
    if (busy === undefined) return undefined;
    this.#busy.delete(busy);
    return { status: 503, body: { error: { message: "all slots are busy" } } };
  }

  async #replay(dialect: Dialect, body: RecordedRequest, response: ServerResponse): Promise<void> {
    const recording = this.#recordings.of(dialect, sceneFor(body));
    if (body["stream"] !== true) {
      send(response, { status: 200, body: recording.json });
      return;
    }
    const isChat = dialect === "chat";
    const counted = isChat ? this.#countedAsAsked(recording, body) : recording.events;
    const held = [...this.#held].find(([prompt]) => says(body, prompt))?.[1];
    await this.#stream(dialect, counted, held, response);
  }

  /** Recorded with usage requested; without, most servers omit every trace of it. */
  #countedAsAsked({ events, uncounted }: Recording, body: RecordedRequest): readonly string[] {
    const options = body["stream_options"] as RecordedRequest | undefined;
    if (options?.["include_usage"] === true || this.shape.chatUsage !== "when-asked") return events;
    if (uncounted !== undefined) return uncounted;
    return events
      .filter((event) => !event.includes('"choices":[]'))
      .map((event) => event.replace(',"usage":null', ""));
  }

  async #stream(
    dialect: Dialect,
    events: readonly string[],
    held: Held | undefined,
    response: ServerResponse,
  ): Promise<void> {
    response.on("close", () => {
      if (!response.writableFinished) held?.noteAborted();
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    let isHeld = held !== undefined;
    for (const event of events) {
      response.write(frameOf(this.shape, dialect, event));
      if (!isHeld || !event.includes(`"${this.shape.says.firstWords}"`)) continue;
      isHeld = false;
      await held?.released;
    }
    response.end();
  }
}

/** One event as this server puts it on the wire. Chat streams name no events. */
export function frameOf({ lineEnd }: ProviderShape, dialect: Dialect, event: string): string {
  const name = dialect === "chat" ? undefined : (JSON.parse(event) as { type: string }).type;
  const head = name === undefined ? "" : `event: ${name}${lineEnd}`;
  return `${head}data: ${event}${lineEnd}${lineEnd}`;
}

function says({ messages, input }: RecordedRequest, prompt: string): boolean {
  return JSON.stringify([messages, input]).includes(prompt);
}

/** A recorded file is text that is JSON already. */
function send(response: ServerResponse, { status, body }: RecordedAnswer): void {
  const isJson = typeof body === "object" || body.startsWith("{");
  response.writeHead(status, { "content-type": isJson ? "application/json" : "text/plain" });
  response.end(typeof body === "object" ? JSON.stringify(body) : body);
}
