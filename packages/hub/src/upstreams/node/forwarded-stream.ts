import type { ErrorCode } from "@roomhub/protocol";
import {
  type IncomingRequest,
  type RequestBodyHandler,
  RESET_CODES,
  type ResetCode,
  type Responder,
} from "@roomhub/tunnel";
import type { HubIdentity } from "../../domain/participant.ts";
import type {
  ForwardedCall,
  ForwardedRequest,
  ForwardReply,
} from "../../inference/forwarding/forwarded-request.ts";
import type { Admission, ForwardRefusal, ResponseHead } from "../../inference/upstream.ts";
import { failureText, refusalText } from "./failure-text.ts";
import { readForwardHead } from "./forward-head.ts";
import { readPreamble } from "./preamble.ts";

type Serve = (request: ForwardedRequest, reply: ForwardReply) => ForwardedCall;

/** Serves one stream of a link as a forwarded request. */
export function serveStream(
  { head, body, end, responder }: IncomingRequest,
  from: HubIdentity,
  serve: Serve,
): RequestBodyHandler {
  const reply = new StreamReply(responder);
  const common = readForwardHead(head);
  const own = readPreamble(body);
  if (common === undefined || own === undefined) {
    reply.fail("peer_unavailable", "the hubs do not understand each other's requests");
    return ignored;
  }
  const { preamble, rest } = own;
  const call = serve({ ...common, ...preamble, from }, reply);
  if (rest.length > 0) call.onBody(rest);
  if (end) call.onBodyEnd();
  return {
    onBody: (chunk) => call.onBody(chunk),
    onBodyEnd: () => call.onBodyEnd(),
    onReset(code: ResetCode, reason: string) {
      reply.cancelled();
      call.onCancel(code === RESET_CODES.tunnelLost ? clientHubLost : reason);
    },
    onDrain: () => call.onDrain(),
  };
}

const clientHubLost = "the link to the hub that has the client was lost";

const ignored: RequestBodyHandler = {
  onBody: () => true,
  onBodyEnd() {},
  onReset() {},
  onDrain() {},
};

class StreamReply implements ForwardReply {
  readonly #responder: Responder;
  #isOver = false;
  #isCancelled = false;

  constructor(responder: Responder) {
    this.#responder = responder;
  }

  /** The other hub has ended the request and waits for {@link closed}. */
  cancelled(): void {
    this.#isOver = true;
    this.#isCancelled = true;
  }

  admit(admission: Admission): void {
    if (!this.#isOver) this.#responder.admit(JSON.stringify(admission));
  }

  refuse(refusal: ForwardRefusal): void {
    this.#reset(RESET_CODES.overloaded, refusalText(refusal));
  }

  head(head: ResponseHead): void {
    if (!this.#isOver) this.#responder.head(head);
  }

  write(chunk: Buffer): boolean {
    return this.#isOver || this.#responder.write(chunk);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#responder.end();
  }

  fail(code: ErrorCode, message: string): void {
    this.#reset(RESET_CODES.internal, failureText(code, message));
  }

  resumeBody(): void {
    this.#responder.resumeBody();
  }

  closed(): void {
    if (this.#isCancelled) this.#responder.end();
  }

  #reset(code: ResetCode, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#responder.reset(code, reason);
  }
}
