import {
  type HubSession,
  RESET_CODES,
  type RequestStream,
  type ResetCode,
  type ResponseHandler,
} from "@roomhub/tunnel";
import type { ForwardTarget } from "../../inference/forwarding/forwarded-request.ts";
import type {
  Admission,
  ForwardRefusal,
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamCall,
  UpstreamRequest,
} from "../../inference/upstream.ts";
import { failureOf, failureText, refusalIn } from "./failure-text.ts";
import type { ForwardHeads } from "./forward-head.ts";
import { writePreamble } from "./preamble.ts";

/** The hub said why it does not take a request. Called before the request is routed again. */
export type OnRefusal = (refusal: ForwardRefusal) => void;

/** To the hub that serves the request. */
export interface OpenLink {
  readonly session: HubSession;
  readonly heads: ForwardHeads;
}

const tooManyMembers = failureText("bad_request", "The body repeats its fields too often.");

/** Requests to a participant of another hub, over the link to that hub. */
export class NodeUpstream implements Upstream {
  readonly isRemote = true;
  readonly #link: OpenLink | undefined;
  readonly #target: ForwardTarget;
  readonly #onRefusal: OnRefusal;

  /** @param link - undefined when none is open: every request fails */
  constructor(link: OpenLink | undefined, target: ForwardTarget, onRefusal: OnRefusal) {
    this.#link = link;
    this.#target = target;
    this.#onRefusal = onRefusal;
  }

  open(request: UpstreamRequest, sink: ResponseSink): UpstreamCall {
    const { forward } = request;
    if (forward === undefined) throw new Error("forwarded without what the other hub needs");
    const call = new NodeCall(sink, this.#onRefusal);
    const preamble = writePreamble(request, forward);
    if (this.#link === undefined) call.failLater(RESET_CODES.tunnelLost, "no link to it is open");
    else if (preamble === undefined) call.failLater(RESET_CODES.internal, tooManyMembers);
    else {
      const { session, heads } = this.#link;
      const head = heads.headOf(request, forward, this.#target);
      call.run(session.open(head, [preamble, ...request.body], call));
    }
    return call;
  }
}

/** One request on a link: what comes over the link goes to the sink, what dispatch calls goes over the link. */
class NodeCall implements ResponseHandler, UpstreamCall {
  readonly #sink: ResponseSink;
  readonly #onRefusal: OnRefusal;
  #stream: RequestStream | undefined;
  #isAdmitted = false;
  #isOver = false;

  constructor(sink: ResponseSink, onRefusal: OnRefusal) {
    this.#sink = sink;
    this.#onRefusal = onRefusal;
  }

  /** Called once, before the first event of the stream. */
  run(stream: RequestStream): void {
    this.#stream = stream;
  }

  failLater(code: ResetCode, reason: string): void {
    setImmediate(() => {
      if (!this.#isOver) this.onReset(code, reason);
      this.#sink.onClosed();
    });
  }

  get isBodyTaken(): boolean {
    return this.#isOver || (this.#stream?.isBodyTaken ?? false);
  }

  resume(): void {
    this.#stream?.resume();
  }

  cancel(reason: string): void {
    this.#isOver = true;
    this.#stream?.reset(RESET_CODES.cancelled, reason);
  }

  onAdmitted({ requestsUsage, shows }: Record<string, unknown>): void {
    this.#isAdmitted = true;
    this.#sink.onAdmitted?.({ requestsUsage: requestsUsage === true, shows: showsIn(shows) });
  }

  onHead(head: ResponseHead): void {
    if (!this.#isAdmitted) throw new Error("a response to a request that was not admitted");
    this.#sink.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    return this.#sink.onData(chunk);
  }

  onEnd(): void {
    this.#isOver = true;
    this.#sink.onEnd();
  }

  onReset(code: ResetCode, reason: string): void {
    this.#isOver = true;
    const refusal =
      this.#isAdmitted || code !== RESET_CODES.overloaded ? undefined : refusalIn(reason);
    if (refusal === undefined) this.#sink.onFailure(failureOf(code, reason));
    else {
      this.#onRefusal(refusal);
      this.#sink.onRefused?.(refusal);
    }
  }

  onClosed(): void {
    this.#sink.onClosed();
  }
}

function showsIn(value: unknown): Admission["shows"] {
  return value === "load" || value === "nothing" ? value : "speed";
}
