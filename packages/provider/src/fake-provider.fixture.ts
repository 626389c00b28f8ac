import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { ProviderCall, ProviderRequest, ProviderSink } from "./call/provider-call.ts";
import type { ProviderFailure } from "./call/failure.ts";
import type { ProviderClient } from "./call/provider-client.ts";

/** A provider made of raw bytes, so that it can lie in every way. */
export interface RawProvider extends AsyncDisposable {
  port: number;
  baseUrl: string;
  /** every socket accepted so far */
  sockets: Socket[];
  /** what arrived on all sockets, in order */
  received: string[];
  close(): Promise<void>;
}

/** @param onRequest - called with each piece that arrives, and how many arrived on this socket before */
export async function startRawProvider(
  onRequest: (socket: Socket, data: Buffer, index: number) => void,
  host = "127.0.0.1",
): Promise<RawProvider> {
  const sockets: Socket[] = [];
  const received: string[] = [];
  const server: Server = createServer((socket) => {
    let index = 0;
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => {
      received.push(data.toString("latin1"));
      onRequest(socket, data, index++);
    });
  });
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    sockets,
    received,
    close,
    [Symbol.asyncDispose]: close,
  };
}

export interface Recorded {
  call: ProviderCall;
  log: string[];
  status: number | undefined;
  headers: Record<string, string>;
  body: string;
  failure: ProviderFailure | undefined;
  head: Promise<void>;
  closed: Promise<void>;
}

/** Calls and writes down everything the sink hears. */
export function record(
  client: ProviderClient,
  request: Partial<ProviderRequest> & { baseUrl: string },
  over: Partial<ProviderSink> = {},
): Recorded {
  const head = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const recorded = {
    log: [] as string[],
    status: undefined as number | undefined,
    headers: {},
    body: "",
    failure: undefined as ProviderFailure | undefined,
    head: head.promise,
    closed: closed.promise,
  } as Recorded;
  const { log } = recorded;
  const sink: ProviderSink = {
    onHead(reply) {
      log.push("head");
      recorded.status = reply.status;
      recorded.headers = reply.headers;
      head.resolve();
    },
    onData(chunk) {
      if (log.at(-1) !== "data") log.push("data");
      recorded.body += chunk.toString("latin1");
      return true;
    },
    onEnd: () => void log.push("end"),
    onFailure(failure) {
      log.push(failure.code);
      recorded.failure = failure;
    },
    onClosed() {
      log.push("closed");
      closed.resolve();
    },
    ...over,
  };
  recorded.call = client.call(
    { method: "GET", path: "/models", headers: {}, body: undefined, ...request },
    sink,
  );
  return recorded;
}

/** A complete response with a length. */
export function httpResponse(body: string, extra = "", status = "200 OK"): string {
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${extra}content-length: ${body.length}\r\n\r\n${body}`;
}
