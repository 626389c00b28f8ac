import type { ClientIdentity, ErrorCode } from "@roomhub/protocol";
import {
  RESET_CODES,
  type RequesterSession,
  type RequestStream,
  type ResetCode,
  resetCodeName,
  type ResponseHandler,
} from "@roomhub/tunnel";
import type { Participant } from "../../domain/participant.ts";
import type { Upstream, UpstreamCall, ResponseSink } from "../../inference/upstream.ts";

/** The error for a client when a participant resets a stream. The reason is the participant's text and may be shown. */
const errorOfReset: Record<ReturnType<typeof resetCodeName>, ErrorCode> = {
  cancelled: "provider_disconnected",
  providerUnreachable: "provider_unreachable",
  providerDisconnected: "provider_disconnected",
  providerTimeout: "provider_timeout",
  providerInvalidResponse: "provider_invalid_response",
  // Never retried elsewhere: either the hub's request was wrong, or the agent has a bug.
  refused: "provider_invalid_response",
  internal: "provider_invalid_response",
  // Nothing reached the provider, so another participant may get the request.
  overloaded: "provider_unreachable",
  responseTooLarge: "response_too_large",
  unread: "tunnel_lost",
  tunnelLost: "tunnel_lost",
};

/** Requests to one participant through the tunnel it keeps open. */
export function tunnelUpstream(
  session: RequesterSession,
  { id }: Participant,
  authHeaders: Readonly<Record<string, string>>,
): Upstream {
  return {
    open(request, sink) {
      const head = {
        method: request.method,
        path: request.path,
        headers: { ...request.headers, ...authHeaders },
        protocol: request.protocol,
        stream: request.isStream,
        client: asClaim(request.sender.client),
        address: request.sender.address,
        priority: request.isBatch ? "batch" : undefined,
        bodyBytes: request.bodyBytes,
      };
      const call = new TunnelCall(sink, id);
      call.run(session.open(head, request.body, call));
      return call;
    },
  };
}

/** One request in a tunnel: connects the tunnel's stream with the sink of the attempt. */
class TunnelCall implements ResponseHandler, UpstreamCall {
  readonly #sink: ResponseSink;
  readonly #participantId: string;
  #stream: RequestStream | undefined;

  constructor(sink: ResponseSink, participantId: string) {
    this.#sink = sink;
    this.#participantId = participantId;
  }

  /** Called once, before the first event of the stream. */
  run(stream: RequestStream): void {
    this.#stream = stream;
  }

  get isBodyTaken(): boolean {
    return this.#stream?.isBodyTaken ?? false;
  }

  writeBody(chunk: Buffer): boolean {
    return this.#stream?.writeBody(chunk) ?? true;
  }

  endBody(): void {
    this.#stream?.endBody();
  }

  resume(): void {
    this.#stream?.resume();
  }

  cancel(reason: string): void {
    this.#stream?.reset(RESET_CODES.cancelled, reason);
  }

  onHead(head: { status: number; headers: Record<string, string> }): void {
    this.#sink.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    return this.#sink.onData(chunk);
  }

  onResumed(): void {
    this.#sink.onResumed?.();
  }

  onBodyDrain(): void {
    this.#sink.onBodyDrain?.();
  }

  onEnd(): void {
    this.#sink.onEnd();
  }

  onReset(code: ResetCode, reason: string): void {
    this.#sink.onFailure({
      code: errorOfReset[resetCodeName(code)],
      message: this.#message(code, reason),
      isUnread: code === RESET_CODES.unread,
    });
  }

  onClosed(): void {
    this.#sink.onClosed();
  }

  #message(code: ResetCode, reason: string): string {
    if (errorOfReset[resetCodeName(code)] === "tunnel_lost")
      return `The tunnel to ${this.#participantId} was lost.`;
    const detail = reason.slice(0, 400);
    return detail === ""
      ? `${this.#participantId} aborted the request.`
      : `${this.#participantId}: ${detail}`;
  }
}

/** An agent knows names; that this one is proven is the hub's concern. */
function asClaim(client: ClientIdentity): ClientIdentity {
  return client.kind === "holder" ? { ...client, kind: "name" } : client;
}
