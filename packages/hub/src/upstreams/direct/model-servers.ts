import { ModelServer, type ProviderClient } from "@roomhub/provider";
import type { Participant } from "../../domain/participant.ts";
import { type DirectEvents, WatchedSink } from "./upstream.ts";

interface ModelServersOptions {
  /** the one whose sockets may go where this participant's endpoint leads */
  clientFor: (participant: Participant) => ProviderClient;
  headersOf: (participant: Participant) => Readonly<Record<string, string>>;
  /** false once the participant has left its room */
  isPresent: (participant: Participant) => boolean;
  events: DirectEvents;
  /** ms on the hub's clock */
  nowMs: () => number;
  loadingMs: number;
}

/** A body is translated in one go, and meanwhile no other request is served here; agents, each for itself, translate longer ones. */
const maxTranslatedBytes = 16 * 1024 * 1024;

/**
 * The model servers behind direct participants. One lives as long as its participant object, and gives way to another
 * when the endpoint moves.
 */
export class ModelServers {
  readonly #options: ModelServersOptions;
  readonly #servers = new WeakMap<Participant, { baseUrl: string; server: ModelServer }>();

  constructor(options: ModelServersOptions) {
    this.#options = options;
  }

  /** What the participant declares or chooses is another. */
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
    const { clientFor, headersOf, isPresent, events, nowMs, loadingMs } = this.#options;
    // Its running requests may still complete when the participant has moved to another endpoint.
    const isCurrent = () => participant.baseUrl === baseUrl;
    const current = onlyWhile(isCurrent, events);
    const contact = {
      responded: () => current.responded(participant, server.readiness),
      failed: (reason: string) => current.failed(participant, reason),
    };
    const server: ModelServer = new ModelServer({
      // Where it may be dialled can change while the endpoint stays: looked up for each call.
      call: (request, sink) => {
        // What a probe finds is recorded when the probe is over.
        const watched = request.path === "/models" ? sink : new WatchedSink(sink, contact);
        return clientFor(participant).call(request, watched);
      },
      baseUrl,
      // Those of now were given for the endpoint of now.
      headers: () => (isCurrent() ? { ...headersOf(participant) } : {}),
      maxTranslatedBytes,
      declared: () => participant.declaredCapabilities,
      modes: () => ({
        openResponses: participant.config.responses,
        messages: participant.config.messages,
      }),
      model: () => participant.model,
      onCapabilities: (capabilities) => current.learned(participant, capabilities),
      // Known before the 503 that says so is passed on. What a probe finds is recorded when it is over.
      onReadiness: (verdict) => {
        if (verdict.readiness === "loading") current.responded(participant, verdict);
      },
      onLookMoved: () => current.lookMoved(participant),
      onEngine: (load) => current.reported(participant, load),
      onLoaded: (models) => current.loaded(participant, models),
      hasListener: () => isCurrent() && isPresent(participant),
      nowMs,
      loadingMs,
    });
    return server;
  }
}

function onlyWhile(isCurrent: () => boolean, events: DirectEvents): DirectEvents {
  return {
    responded(participant, verdict) {
      if (isCurrent()) events.responded(participant, verdict);
    },
    lookMoved(participant) {
      if (isCurrent()) events.lookMoved(participant);
    },
    failed(participant, reason) {
      if (isCurrent()) events.failed(participant, reason);
    },
    learned(participant, capabilities) {
      if (isCurrent()) events.learned(participant, capabilities);
    },
    reported(participant, load) {
      if (isCurrent()) events.reported(participant, load);
    },
    loaded(participant, models) {
      if (isCurrent()) events.loaded(participant, models);
    },
  };
}
