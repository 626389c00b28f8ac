import type {
  EngineLoad,
  ModelServer,
  ProviderFailure,
  ProviderSink,
  ReadinessVerdict,
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

/** What direct calls and probes show of a participant's path. */
export interface DirectEvents {
  /** @param verdict - on its model server, by now */
  responded(participant: Participant, verdict: ReadinessVerdict): void;
  /** Its model list is to be looked at, earlier than it was. */
  lookMoved(participant: Participant): void;
  failed(participant: Participant, reason: string): void;
  /** What its model server can do, as far as it is known now. */
  learned(participant: Participant, capabilities: Readonly<ReportedCapabilities>): void;
  /** What its model server reports of the requests that it runs at once; undefined for no report. */
  reported(participant: Participant, load: EngineLoad | undefined): void;
  /** The models that its model server has loaded; undefined when it does not say. */
  loaded(participant: Participant, models: readonly string[] | undefined): void;
}

/** Requests the hub sends to a participant's endpoint itself. */
export class DirectUpstream implements Upstream {
  readonly #server: ModelServer;
  readonly #authHeaders: Readonly<Record<string, string>>;

  constructor(server: ModelServer, authHeaders: Readonly<Record<string, string>>) {
    this.#server = server;
    this.#authHeaders = authHeaders;
  }

  open(request: UpstreamRequest, sink: ResponseSink): UpstreamCall {
    const { method, path, body, sender } = request;
    const headers = { ...request.headers, ...this.#authHeaders };
    return this.#server.call(
      {
        method,
        path,
        headers,
        body: method === "POST" ? body : undefined,
        client: `${sender.addressId} ${sender.client.id}`,
      },
      sink,
    );
  }
}

/** Whether one model server responds to its calls. */
interface ServerContact {
  responded(): void;
  failed(reason: string): void;
}

/** Notes on the side whether the endpoint responds at all. */
export class WatchedSink implements ProviderSink {
  readonly #sink: ProviderSink;
  readonly #contact: ServerContact;

  constructor(sink: ProviderSink, contact: ServerContact) {
    this.#sink = sink;
    this.#contact = contact;
  }

  onHead(head: ResponseHead): void {
    this.#sink.onHead(head);
    // After the head has changed the verdict, and before its request is routed anew at the end of the body.
    this.#contact.responded();
  }

  onData(chunk: Buffer): boolean {
    return this.#sink.onData(chunk);
  }

  onEnd(): void {
    this.#sink.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    if (failure.code === "provider_unreachable") this.#contact.failed(failure.message);
    this.#sink.onFailure(failure);
  }

  onClosed(): void {
    this.#sink.onClosed();
  }
}
