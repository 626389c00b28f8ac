import type { ProviderRequest, ProviderSink, ResponseHead } from "./call/provider-call.ts";
import type { ProviderFailure } from "./call/failure.ts";
import type { CallProvider } from "./learn/query.ts";
import type { ModelServerRequest, ModelServer } from "./model-server.ts";

/** How a scripted server responds to one request. */
export interface Reply {
  status?: number;
  /** application/json when left out; `event-stream` is short for the other usual one */
  type?: string;
  headers?: Record<string, string>;
  /** one chunk, or several */
  body?: string | string[];
  /** never answered, or not to the end */
  hangs?: "before-head" | "after-body";
  /** ends the response, or comes in place of one when there is no status */
  failure?: ProviderFailure;
}

export interface SeenRequest {
  /** `POST /v1/responses`: the whole path */
  line: string;
  headers: Record<string, string>;
  body: string;
}

/** A model server without sockets that keeps the promises of `ProviderSink`. */
export interface ScriptedServer {
  call: CallProvider;
  /** in the order they came */
  requests: SeenRequest[];
  /** just the request lines */
  lines(): string[];
  /** calls whose `onClosed` has not come */
  readonly open: number;
}

/** @param respond - called for each request; undefined is a 404 page as Go's servers have it */
export function scriptServer(respond: (request: SeenRequest) => Reply | undefined): ScriptedServer {
  let open = 0;
  const server: ScriptedServer = {
    requests: [],
    lines: () => server.requests.map(({ line }) => line),
    get open() {
      return open;
    },
    call(request, sink) {
      open++;
      return runCall(request, sink, respond, server, () => void open--);
    },
  };
  return server;
}

const notFound: Reply = { status: 404, type: "text/plain", body: "404 page not found" };

function runCall(
  request: ProviderRequest,
  sink: ProviderSink,
  respond: (request: SeenRequest) => Reply | undefined,
  server: ScriptedServer,
  onClosed: () => void,
): ReturnType<CallProvider> {
  const uploaded: Buffer[] = request.body === "streamed" ? [] : [...(request.body ?? [])];
  let isOver = false;
  let isPaused = false;
  let chunks: string[] = [];
  let reply: Reply = {};

  function start(): void {
    const requested = {
      line: `${request.method} ${new URL(request.baseUrl).pathname.replace(/\/$/, "")}${request.path}`,
      headers: request.headers,
      body: Buffer.concat(uploaded).toString("utf8"),
    };
    server.requests.push(requested);
    reply = respond(requested) ?? notFound;
    process.nextTick(begin);
  }

  function begin(): void {
    if (isOver || reply.hangs === "before-head") return;
    if (reply.status !== undefined || reply.failure === undefined) sink.onHead(headOf(reply));
    chunks = [reply.body ?? []].flat();
    pump();
  }

  function pump(): void {
    for (;;) {
      const chunk = isOver || isPaused ? undefined : chunks.shift();
      if (chunk === undefined) break;
      isPaused = !sink.onData(Buffer.from(chunk, "latin1"));
    }
    if (isOver || isPaused || reply.hangs === "after-body") return;
    isOver = true;
    if (reply.failure === undefined) sink.onEnd();
    else sink.onFailure(reply.failure);
    close();
  }

  function close(): void {
    process.nextTick(() => {
      onClosed();
      sink.onClosed();
    });
  }

  if (request.body !== "streamed") start();
  return {
    resume() {
      if (!isPaused || isOver) return;
      isPaused = false;
      process.nextTick(pump);
    },
    cancel() {
      if (isOver) return;
      isOver = true;
      close();
    },
    writeBody(chunk) {
      uploaded.push(Buffer.from(chunk));
      return true;
    },
    endBody: start,
  };
}

function headOf({ status = 200, type = "application/json", headers }: Reply): ResponseHead {
  const contentType = type === "event-stream" ? "text/event-stream" : type;
  return { status, headers: { "content-type": contentType, ...headers } };
}

/** Every call of a sink, in order. */
export interface Heard {
  log: string[];
  status: number | undefined;
  headers: Record<string, string>;
  body: string;
  failure: ProviderFailure | undefined;
  call: ReturnType<ModelServer["call"]>;
  head: Promise<void>;
  closed: Promise<void>;
}

/** Calls and writes down what the sink hears. @param isTaking - what `onData` returns; true when left out */
export function listen(
  server: ModelServer,
  request: Partial<ModelServerRequest>,
  isTaking: () => boolean = () => true,
): Heard {
  const head = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const heard = {
    log: [],
    status: undefined,
    headers: {},
    body: "",
    failure: undefined,
    head: head.promise,
    closed: closed.promise,
  } as unknown as Heard;
  const { log } = heard;
  heard.call = server.call(
    { method: "POST", path: "/responses", headers: {}, body: undefined, ...request },
    {
      onHead({ status, headers }) {
        log.push("head");
        Object.assign(heard, { status, headers });
        head.resolve();
      },
      onData(chunk) {
        if (log.at(-1) !== "data") log.push("data");
        heard.body += chunk.toString("utf8");
        return isTaking();
      },
      onEnd: () => void log.push("end"),
      onFailure(failure) {
        log.push(failure.code);
        heard.failure = failure;
      },
      onClosed() {
        log.push("closed");
        closed.resolve();
      },
    },
  );
  return heard;
}
