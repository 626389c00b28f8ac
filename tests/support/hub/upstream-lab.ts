import { ModelServer, ProviderClient } from "@roomhub/provider";
import { AgentSession, RequesterSession, type IncomingRequest, RESET_CODES } from "@roomhub/tunnel";
import { memoryTransportPair } from "../../../packages/tunnel/src/transport/memory-transport.fixture.ts";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { aParticipant } from "../../../packages/hub/src/domain/room.fixture.ts";
import type { Upstream, UpstreamRequest } from "../../../packages/hub/src/inference/upstream.ts";
import { directUpstream } from "../../../packages/hub/src/upstreams/direct/model-servers.ts";
import { tunnelUpstream } from "../../../packages/hub/src/upstreams/tunnel/upstream.ts";

/** One request as the model server at the other end of an upstream has it. */
export interface ServedCall {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Promise<Buffer>;
  head(status: number, headers: Record<string, string>): void;
  /** @returns false when the reader is behind */
  data(bytes: Buffer): boolean;
  end(): void;
  /** Its connection breaks. */
  breakOff(): void;
  /** Resolves when the hub no longer needs the response. */
  cancelled: Promise<void>;
  /** Its work has ended after a cancel. */
  finish(): void;
}

/** An upstream, and the model server behind it in the hands of a test. */
export interface UpstreamLab {
  upstream: Upstream;
  nextCall(): Promise<ServedCall>;
  close(): Promise<void>;
}

/** Calls in the order they come; each waiting reader gets the next. */
class Calls {
  readonly #arrived: ServedCall[] = [];
  readonly #waiting: ((call: ServedCall) => void)[] = [];

  add(call: ServedCall): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#arrived.push(call);
    else waiting(call);
  }

  next(): Promise<ServedCall> {
    const arrived = this.#arrived.shift();
    if (arrived !== undefined) return Promise.resolve(arrived);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

export async function directLab(): Promise<UpstreamLab> {
  const calls = new Calls();
  const server = createServer((request, response) => calls.add(httpCall(request, response)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = new ProviderClient({ connectTimeoutMs: 1_000, addressProblem: () => undefined });
  const modelServer = new ModelServer({
    call: (request, sink) => client.call(request, sink),
    baseUrl: `http://127.0.0.1:${port}/v1`,
    headers: () => ({}),
    declared: () => ({ chatCompletions: "supported" }),
    onCapabilities() {},
  });
  return {
    upstream: directUpstream(modelServer, {}),
    nextCall: () => calls.next(),
    async close() {
      await client.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function httpCall(request: IncomingMessage, response: ServerResponse): ServedCall {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => void chunks.push(chunk));
  const body = new Promise<Buffer>((resolve) =>
    request.on("end", () => resolve(Buffer.concat(chunks))),
  );
  return {
    method: request.method ?? "",
    path: (request.url ?? "").replace("/v1", ""),
    headers: request.headers,
    body,
    head: (status, headers) => response.writeHead(status, headers).flushHeaders(),
    data: (bytes) => response.write(bytes),
    end: () => void response.end(),
    breakOff: () => void response.destroy(),
    cancelled: new Promise((resolve) => response.on("close", resolve)),
    finish() {},
  };
}

export async function tunnelLab(): Promise<UpstreamLab> {
  const [hubEnd, agentEnd] = memoryTransportPair();
  const calls = new Calls();
  const ignore = { onGoAway() {}, onClose() {}, onError: fail };
  const session = new RequesterSession(hubEnd, {
    responseWindowBytes: 64 * 1024,
    maxStreams: 64,
    pingIntervalMs: undefined,
    handlers: { ...ignore, onHello() {}, onStatus() {}, onLife() {} },
  });
  const agent = new AgentSession(agentEnd, {
    maxStreams: 64,
    requestWindowBytes: undefined,
    capabilities: {},
    pingIntervalMs: undefined,
    handlers: {
      ...ignore,
      onHello() {},
      onRequest(request) {
        const { call, handler } = tunnelCall(request);
        calls.add(call);
        return handler;
      },
    },
  });
  await delivered(6);
  return {
    upstream: tunnelUpstream(session, aParticipant({ id: "ana" }), {}),
    nextCall: () => calls.next(),
    async close() {
      agent.close(1000, "the test is over");
      await delivered(4);
    },
  };
}

function tunnelCall({ head, body, end, responder }: IncomingRequest) {
  const chunks = [Buffer.from(body)];
  const whole = Promise.withResolvers<Buffer>();
  const cancelled = Promise.withResolvers<void>();
  const finishBody = () => whole.resolve(Buffer.concat(chunks));
  if (end) finishBody();
  const call: ServedCall = {
    method: head.method,
    path: head.path,
    headers: head.headers,
    body: whole.promise,
    head: (status, headers) => responder.head({ status, headers }),
    data: (bytes) => responder.write(bytes),
    end: () => responder.end(),
    breakOff: () => responder.reset(RESET_CODES.providerDisconnected, "it hung up"),
    cancelled: cancelled.promise,
    finish: () => responder.end(),
  };
  const handler = {
    onBody: (chunk: Buffer) => chunks.push(Buffer.from(chunk)) > 0,
    onBodyEnd: finishBody,
    onReset: () => cancelled.resolve(),
    onDrain() {},
  };
  return { call, handler };
}

/** Lets messages in memory arrive, and the replies to them. */
async function delivered(rounds: number = 40): Promise<void> {
  for (let round = 0; round < rounds; round++)
    await new Promise((resolve) => setImmediate(resolve));
}

export function aRequest(fields: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    method: "POST",
    path: "/chat/completions",
    headers: { "content-type": "application/json", "x-test": "1" },
    protocol: "chatCompletions",
    isStream: true,
    body: [Buffer.from("{}")],
    sender: { client: { kind: "none", id: "" }, address: "00000001" },
    ...fields,
  };
}

function fail(error: unknown): never {
  throw error;
}
