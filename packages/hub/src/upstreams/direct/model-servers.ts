import type { World } from "@roomhub/protocol";
import {
  ModelServer,
  PassingSink,
  type ProviderClient,
  type ProviderSink,
} from "@roomhub/provider";
import type { Participant } from "../../domain/participant.ts";
import type { DirectReport } from "../../domain/path-reports.ts";
import type { Upstream } from "../../inference/upstream.ts";

interface ModelServersOptions {
  /** the client whose sockets may go where this participant's endpoint leads */
  clientFor: (participant: Participant) => ProviderClient;
  headersOf: (participant: Participant) => Readonly<Record<string, string>>;
  /** false once the participant has left its room */
  isPresent: (participant: Participant) => boolean;
  report: (participant: Participant, report: DirectReport) => void;
  /** The model list is due to be read, earlier than before. */
  onLookMoved: (participant: Participant) => void;
  world: World;
  loadingMs: number;
}

/** A body is translated in one go, which blocks every other request here. An agent blocks only itself, and takes longer ones. */
const maxTranslatedBytes = 16 * 1024 * 1024;

/**
 * The model servers behind direct participants. One lives as long as its participant object, and is replaced when the
 * endpoint moves.
 */
export class ModelServers {
  readonly #options: ModelServersOptions;
  readonly #servers = new WeakMap<Participant, { baseUrl: string; server: ModelServer }>();

  constructor(options: ModelServersOptions) {
    this.#options = options;
  }

  /** The participant's config or declared capabilities have changed. */
  settingsChanged(participant: Participant): void {
    this.#servers.get(participant)?.server.settingsChanged();
  }

  serverOf(participant: Participant): ModelServer {
    const { baseUrl } = participant;
    const known = this.#servers.get(participant);
    if (known?.baseUrl === baseUrl) return known.server;
    const server = this.#create(participant, baseUrl);
    this.#servers.set(participant, { baseUrl, server });
    return server;
  }

  /** Only a server that exists has learned anything. */
  renewed(participant: Participant, what: { credentials: boolean; model: boolean }): void {
    const known = this.#servers.get(participant);
    if (known === undefined || known.baseUrl !== participant.baseUrl) return;
    if (what.credentials) known.server.credentialsChanged();
    if (what.model) known.server.modelChanged();
  }

  #create(participant: Participant, baseUrl: string): ModelServer {
    const { clientFor, headersOf, isPresent, onLookMoved, loadingMs } = this.#options;
    // Its running requests may still complete when the participant has moved to another endpoint.
    const isCurrent = () => participant.baseUrl === baseUrl;
    const report = (of: DirectReport) => {
      if (isCurrent()) this.#options.report(participant, of);
    };
    const responded = () => report({ kind: "responded", verdict: server.readiness, isLife: false });
    const failed = (reason: string) => report({ kind: "failed", reason });
    const server: ModelServer = new ModelServer({
      // Looked up for each call: the right to dial can change while the endpoint stays.
      call: (request, sink) => {
        // The result of a probe is recorded when the probe is over.
        const watched =
          request.path === "/models" ? sink : new WatchedSink(sink, responded, failed);
        return clientFor(participant).call(request, watched);
      },
      baseUrl,
      // The current credentials were given for the current endpoint.
      headers: () => (isCurrent() ? { ...headersOf(participant) } : {}),
      maxTranslatedBytes,
      declared: () => participant.declaredCapabilities,
      modes: () => ({
        openResponses: participant.config.responses,
        messages: participant.config.messages,
      }),
      model: () => participant.model,
      onCapabilities: (capabilities) => report({ kind: "capabilities", capabilities }),
      // A 503 that says "loading" counts before it is passed on; other verdicts count once their call or probe is over.
      onReadiness: (verdict) => {
        if (verdict.readiness === "loading") report({ kind: "responded", verdict, isLife: false });
      },
      onLookMoved: () => {
        if (isCurrent()) onLookMoved(participant);
      },
      onEngine: (load) => report({ kind: "load", load }),
      onFacts: (facts) => report({ kind: "facts", facts }),
      onLoaded: (models) => report({ kind: "loaded", models }),
      hasListener: () => isCurrent() && isPresent(participant),
      world: this.#options.world,
      loadingMs,
    });
    return server;
  }
}

/** Requests the hub sends to a participant's endpoint itself. */
export function directUpstream(
  server: ModelServer,
  authHeaders: Readonly<Record<string, string>>,
): Upstream {
  return {
    open(request, sink) {
      const { method, path, body, bodyBytes, sender } = request;
      return server.call(
        {
          ...{ method, path, headers: { ...request.headers, ...authHeaders } },
          body: method === "POST" ? body : undefined,
          bodyBytes,
          client: `${sender.address} ${sender.client.id}`,
        },
        sink,
      );
    },
  };
}

/** Notes on the side whether the endpoint responds at all. */
class WatchedSink extends PassingSink {
  readonly #onResponse: () => void;
  readonly #onUnreachable: (reason: string) => void;

  constructor(sink: ProviderSink, onResponse: () => void, onUnreachable: (reason: string) => void) {
    super(sink);
    this.#onResponse = onResponse;
    this.#onUnreachable = onUnreachable;
  }

  override onHead(head: Parameters<ProviderSink["onHead"]>[0]): void {
    super.onHead(head);
    // After the head has changed the verdict, and before its request is routed again at the end of the body.
    this.#onResponse();
  }

  override onFailure(failure: Parameters<ProviderSink["onFailure"]>[0]): void {
    if (failure.code === "provider_unreachable") this.#onUnreachable(failure.message);
    super.onFailure(failure);
  }
}
