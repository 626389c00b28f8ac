import type { ProviderClient, ProviderFailure, ProviderSink } from "@roomhub/provider";
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
}

/** Requests the hub sends to a participant's endpoint itself. */
export class DirectUpstream implements Upstream {
  readonly kind = "direct";
  readonly #client: ProviderClient;
  readonly #participant: Participant;
  readonly #authHeaders: Readonly<Record<string, string>>;
  readonly #events: DirectEvents;

  constructor(
    client: ProviderClient,
    participant: Participant,
    authHeaders: Readonly<Record<string, string>>,
    events: DirectEvents,
  ) {
    this.#client = client;
    this.#participant = participant;
    this.#authHeaders = authHeaders;
    this.#events = events;
  }

  open(request: UpstreamRequest, sink: ResponseSink): UpstreamCall {
    return this.#client.call(
      {
        baseUrl: this.#participant.baseUrl,
        method: request.method,
        path: request.path,
        headers: { ...request.headers, ...this.#authHeaders },
        body: request.body,
      },
      new WatchedSink(sink, this.#participant, this.#events),
    );
  }
}

/** Notes on the side whether the endpoint answers at all. */
class WatchedSink implements ProviderSink {
  readonly #sink: ResponseSink;
  readonly #participant: Participant;
  readonly #events: DirectEvents;

  constructor(sink: ResponseSink, participant: Participant, events: DirectEvents) {
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
