import {
  resolveLimits,
  SURFACES,
  type ClientIdentity,
  type CompletePayload,
  type FailurePayload,
  type Limits,
  type RequestPayload,
} from "@roomhub/protocol";
import { crc32 } from "node:zlib";
import { noteRefusedContext } from "../domain/needs/model-facts.ts";
import type { Access } from "../domain/keys/access.ts";
import type { Participant } from "../domain/participant.ts";
import { aRoom } from "../domain/room.fixture.ts";
import type { HubError } from "../errors.ts";
import { errorHeaders } from "../http/error-response.ts";
import type { ClientResponse } from "./client-response.ts";
import { isOfBatch, requiresOf } from "./request/needs.ts";
import { ModelRequest } from "./request/inference-request.ts";
import { Dispatch } from "./dispatch.ts";
import { InFlight } from "./in-flight.ts";
import type { DispatchDeps } from "./inference-call.ts";
import { Sender } from "./sender/senders.ts";
import { RoomQueues } from "./queue.ts";
import type { Upload } from "./request/upload.ts";
import { RequestBodyReader } from "./request/request-head.ts";
import { StoredResponses } from "./stored-responses.ts";
import type { ResponseSink, Upstream, UpstreamFailure, UpstreamRequest } from "./upstream.ts";

/** A client that remembers all it got. */
export class FakeClient implements ClientResponse {
  isHeadWritten = false;
  status = 0;
  headers: Record<string, string> = {};
  text = "";
  isEnded = false;
  isDestroyed = false;
  processingCount = 0;
  error: HubError | undefined;
  /** It takes nothing more until drained. */
  isBehind = false;
  /** Its socket keeps the last bytes: call to hand them over. */
  handOver: (() => void) | undefined;
  isSlowToFinish = false;

  writeHead(status: number, headers: Record<string, string>): void {
    if (this.isHeadWritten) throw new Error("a second head");
    this.isHeadWritten = true;
    this.status = status;
    this.headers = headers;
  }

  write(bytes: Buffer | string): boolean {
    if (!this.isHeadWritten || this.isEnded) throw new Error("a write outside of the response");
    this.text += bytes.toString();
    return !this.isBehind;
  }

  respond(
    status: number,
    headers: Record<string, string>,
    body: Buffer,
    onHandedOver?: () => void,
  ): void {
    this.writeHead(status, headers);
    this.text = body.toString();
    this.end(onHandedOver);
  }

  end(onHandedOver?: () => void): void {
    if (this.isEnded) throw new Error("a second end");
    this.isEnded = true;
    if (this.isSlowToFinish) this.handOver = onHandedOver;
    else onHandedOver?.();
  }

  refuse(error: HubError, headers: Record<string, string>): void {
    this.writeHead(error.status, headers);
    this.error = error;
    this.isEnded = true;
  }

  writeProcessing(): void {
    this.processingCount++;
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

/** One call to a participant, and the controls of its provider. */
export class FakeCall {
  readonly participant: Participant;
  readonly request: UpstreamRequest;
  readonly sink: ResponseSink;
  cancelled: string | undefined;
  resumeCount = 0;
  /** It reads no buffer of the request's body any more. */
  isBodyTaken = false;
  /** of a streamed body */
  readonly written: Buffer[] = [];

  constructor(participant: Participant, request: UpstreamRequest, sink: ResponseSink) {
    this.participant = participant;
    this.request = request;
    this.sink = sink;
  }

  get body(): string {
    return Buffer.concat(this.parts).toString();
  }

  get parts(): readonly Buffer[] {
    return this.request.body === "streamed" ? this.written : this.request.body;
  }

  head(status = 200, headers: Record<string, string> = { "content-type": "text/event-stream" }) {
    this.sink.onHead({ status, headers });
  }

  json(status = 200): void {
    this.head(status, { "content-type": "application/json" });
  }

  data(text: string): boolean {
    return this.sink.onData(Buffer.from(text));
  }

  /** A clean end; the participant is finished too. */
  end(): void {
    this.sink.onEnd();
    this.sink.onClosed();
  }

  fail(code: UpstreamFailure["code"], message = `it failed: ${code}`): void {
    this.sink.onFailure({ code, message });
    this.sink.onClosed();
  }

  /** The agent of the participant refuses the request, for its budget or since all slots are taken. */
  refuse(refusal: "budget" | "person" | "busy", retryAfterSeconds: number): void {
    const headers = { "content-type": "application/json", "retry-after": `${retryAfterSeconds}` };
    this.sink.onHead({ status: 429, headers, refusal });
    const message = `The budget of ${this.participant.id} is used up.`;
    this.data(JSON.stringify({ error: { message, type: "rate_limit_error" } }));
    this.end();
  }

  /** Head, whole body, end. */
  respond(status: number, body: string, headers?: Record<string, string>): void {
    this.head(status, headers ?? { "content-type": "application/json" });
    if (body !== "") this.data(body);
    this.end();
  }
}

/** The retry advice for an SDK, as it leaves the hub. */
export function retrySignals({ client }: Sent): Record<string, string> {
  const { error, headers } = client;
  const all: Record<string, string> = { ...(error ? errorHeaders(error) : {}), ...headers };
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => name === "retry-after" || name === "x-should-retry"),
  );
}

export type BenchEvent =
  | ({ name: "llm.request" } & RequestPayload)
  | ({ name: "llm.complete" } & CompletePayload)
  | ({ name: "llm.error"; status: number } & FailurePayload);

export interface Sent {
  client: FakeClient;
  dispatch: Dispatch;
  request: ModelRequest;
  /** how often it said that it is over */
  settledCount: () => number;
  /** the names of its events, in order */
  ledger: () => string[];
  ending: () => BenchEvent | undefined;
}

export interface SendOptions {
  model?: string;
  stream?: boolean;
  surface?: string;
  address?: string;
  identity?: ClientIdentity;
  access?: Access;
  clientKey?: string;
  hops?: string[];
  requestsStreamUsage?: boolean;
  session?: string;
  /** `x-roomhub-priority` */
  priority?: string;
  /** `x-roomhub-require` */
  require?: string;
  /** further fields of the request */
  fields?: Record<string, unknown>;
  client?: FakeClient;
  /** what is still to come of its body */
  upload?: Upload;
}

/** Everything around dispatch, with a clock that moves on demand. */
export function createBench(participants: Participant[], limits: Partial<Limits> = {}) {
  const room = aRoom(...participants);
  const calls: FakeCall[] = [];
  const events: BenchEvent[] = [];
  const bugs: unknown[] = [];
  const inFlight = new InFlight();
  const resolved = resolveLimits(limits);
  const queues = new RoomQueues(resolved.queuePerRoom);
  const gone = new Set<string>();
  let nowMs = 1_000;
  let sentCount = 0;

  function upstreamFor(participant: Participant): Upstream | undefined {
    if (gone.has(participant.id)) return undefined;
    return {
      open(request, sink) {
        const call = new FakeCall(participant, request, sink);
        calls.push(call);
        return {
          get isBodyTaken() {
            return call.isBodyTaken;
          },
          writeBody: (chunk) => call.written.push(chunk) > 0,
          endBody: () => undefined,
          resume: () => void call.resumeCount++,
          cancel: (reason) => void (call.cancelled ??= reason),
        };
      },
    };
  }

  /** the bodies of requests that were sent to the next home of the room, which has left with `leave()` */
  const moved: string[] = [];
  let hasLeft = false;
  const detail = { isWatched: false };
  const shown: [name: string, payload: object][] = [];
  const deps: DispatchDeps = {
    bootId: "boot1",
    limits: resolved,
    nowMs: () => nowMs,
    wallMs: () => nowMs,
    random: () => 0,
    emit: {
      llmRequest: (_code, payload) => void events.push({ name: "llm.request", ...payload }),
      llmComplete: (_code, payload) => void events.push({ name: "llm.complete", ...payload }),
      llmError: (_code, payload, status) =>
        void events.push({ name: "llm.error", ...payload, status }),
      requestQueued: (_code, payload) => void shown.push(["queued", payload]),
      requestFirst: (_code, payload) => void shown.push(["first", payload]),
      requestProgress: (_code, payload) => shown.push(["progress", payload]) > 0,
    },
    detail,
    queues,
    inFlight,
    upstreamFor,
    isLeaving: () => hasLeft,
    scrubberOf: () => (text) => text.replaceAll("sk-CANARY", "[redacted]"),
    owns: ({ proof }, participant) => proof.clientKey === `rhc_${participant.id}`,
    storedResponses: new StoredResponses(resolved.responsesPerRoom),
    participantRests: (participant, untilMs) => void (participant.load.restsUntilMs = untilMs),
    participantOverloaded: (participant, untilMs) =>
      void (participant.load.overloadedUntilMs = untilMs),
    contextLearned: (participant, tokens) => noteRefusedContext(participant, tokens, nowMs),
    reportBug: (error) => void bugs.push(error),
  };

  /** Lets time pass and looks at all deadlines. */
  function pass(ms: number): void {
    nowMs += ms;
    inFlight.sweep(nowMs);
    queues.wakeBatches();
  }

  function send(options: SendOptions = {}): Sent {
    const { model = "*", stream = false, surface = "chat/completions" } = options;
    const requestId = `req_${++sentCount}`;
    const client = options.client ?? new FakeClient();
    const reader = new RequestBodyReader(64, true, crc32);
    reader.push(Buffer.from(JSON.stringify({ model, stream, messages: [], ...options.fields })));
    let settledCount = 0;
    const body = { ...reader.end(), upload: options.upload };
    const request = new ModelRequest({
      surface: SURFACES.find(({ path }) => path === surface) ?? failTo(`find ${surface}`),
      body,
      isBatch: isOfBatch(options.priority, body),
      headers: { accept: "text/event-stream" },
      session: options.session,
      requires: requiresOf(options.require),
      requestsStreamUsage: options.requestsStreamUsage ?? false,
    });
    const dispatch = new Dispatch(deps, {
      requestId,
      room,
      request,
      hops: options.hops ?? [],
      sender: new Sender(
        options.address ?? "127.0.0.1",
        options.identity ?? { kind: "none", id: "" },
        { ownAddress: undefined, clientKey: options.clientKey, keyId: undefined },
        options.address ?? "127.0.0.1",
      ),
      access: options.access,
      startedMs: nowMs,
      client,
      onSettled: () => void settledCount++,
      onMoved: (_code, read) => void moved.push(Buffer.concat([...read.body]).toString()),
    });
    dispatch.start();
    const own = () => events.filter((event) => event.requestId === requestId);
    return {
      client,
      dispatch,
      request,
      settledCount: () => settledCount,
      ledger: () => own().map((event) => event.name),
      ending: () => own().find((event) => event.name !== "llm.request"),
    };
  }

  /** The call made last. */
  function call(): FakeCall {
    return calls.at(-1) ?? failTo("make a call");
  }

  function leave(): void {
    hasLeft = true;
    inFlight.roomLeft(room.code);
  }

  return {
    leave,
    moved,
    room,
    deps,
    calls,
    events,
    detail,
    shown,
    bugs,
    inFlight,
    queues,
    gone,
    pass,
    send,
    call,
  };
}

export type Bench = ReturnType<typeof createBench>;

function failTo(what: string): never {
  throw new Error(`the bench could not ${what}`);
}
