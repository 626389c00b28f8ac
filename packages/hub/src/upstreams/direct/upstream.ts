import type {
  ModelServer,
  ProviderFailure,
  ProviderSink,
  ReportedCapabilities,
} from "@roomhub/provider";
import type { Participant } from "../../domain/participant.ts";
import type {
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamCall,
  UpstreamRequest,
} from "../../inference/upstream.ts";

/** What direct calls tell about a participant's path. */
export interface DirectEvents {
  answered(participant: Participant): void;
  failed(participant: Participant, reason: string): void;
  /** What its model server can do, as far as it is known now. */
  learned(participant: Participant, capabilities: Readonly<ReportedCapabilities>): void;
}

/** Requests the hub sends to a participant's endpoint itself. */
export class DirectUpstream implements Upstream {
  readonly kind = "direct";
  readonly #server: ModelServer;
  readonly #authHeaders: Readonly<Record<string, string>>;

  constructor(server: ModelServer, authHeaders: Readonly<Record<string, string>>) {
    this.#server = server;
    this.#authHeaders = authHeaders;
  }

  open(request: UpstreamRequest, sink: ResponseSink): UpstreamCall {
    const { method, path, body } = request;
    const headers = { ...request.headers, ...this.#authHeaders };
    return this.#server.call(
      { method, path, headers, body: method === "POST" ? body : undefined },
      sink,
    );
  }
}

/** Notes on the side whether the endpoint answers at all. */
export class WatchedSink implements ProviderSink {
  readonly #sink: ProviderSink;
  readonly #participant: Participant;
  readonly #events: DirectEvents;

  constructor(sink: ProviderSink, participant: Participant, events: DirectEvents) {
    this.#sink = sink;
    this.#participant = participant;
    this.#events = events;
  }

  onHead(head: ResponseHead): void {
    this.#events.answered(this.#participant);
    this.#sink.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    return this.#sink.onData(chunk);
  }

  onEnd(): void {
    this.#sink.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    if (failure.code === "provider_unreachable")
      this.#events.failed(this.#participant, failure.message);
    this.#sink.onFailure(failure);
  }

  onClosed(): void {
    this.#sink.onClosed();
  }
}
