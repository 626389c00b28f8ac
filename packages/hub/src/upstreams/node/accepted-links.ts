import {
  AgentSession,
  CLOSE_CODES,
  type IncomingRequest,
  type RequestBodyHandler,
  type Transport,
} from "@roomhub/tunnel";
import { LinkHandshake, type LinkedHub } from "./handshake.ts";
import { LINK, type LinkSettings } from "./link-settings.ts";
import { proveLink, type UnprovenLink } from "./link-transport.ts";

export interface AcceptedLinkEvents {
  requested(peer: LinkedHub, request: IncomingRequest): RequestBodyHandler;
  noticed(peer: LinkedHub, notice: Record<string, unknown>): void;
  /** No newer link took its place. */
  closed(peer: LinkedHub): void;
  bug(error: unknown): void;
}

/** The links over which other hubs ask this one: the newest of each. */
export class AcceptedLinks {
  readonly #settings: LinkSettings;
  readonly #events: AcceptedLinkEvents;
  /** with the timer that ends each */
  readonly #unproven = new Map<UnprovenLink, NodeJS.Timeout>();
  /** by hub id */
  readonly #sessions = new Map<string, AgentSession>();
  #isLeaving: string | undefined;

  constructor(settings: LinkSettings, events: AcceptedLinkEvents) {
    this.#settings = settings;
    this.#events = events;
  }

  /** Links that have proven nothing yet. */
  get unproven(): { readonly size: number } {
    return this.#unproven;
  }

  sessionOf(hubId: string): AgentSession | undefined {
    return this.#sessions.get(hubId);
  }

  /** A connection is open. */
  accept(transport: Transport): void {
    const { own, secret, randomBytes } = this.#settings;
    const nonce = randomBytes(32);
    const handshake = new LinkHandshake({
      ...{ side: "acceptor", own, secret, nonce, expectedHubId: undefined },
    });
    const link = proveLink(transport, handshake, {
      failed: () => this.#settle(link),
      proven: (peer, proven) => {
        this.#settle(link);
        this.#run(peer, proven);
      },
    });
    const timer = setTimeout(() => link.abandon("no proof in time"), LINK.handshakeMs);
    this.#unproven.set(link, timer);
  }

  tick(nowMs: number): void {
    for (const session of this.#sessions.values()) session.tick(nowMs);
  }

  /** Resolves when the response to every request of the other hubs is sent. */
  async emptied(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.values(), (session) => session.emptied()));
  }

  goAway(reason: string): void {
    this.#isLeaving = reason;
    for (const session of this.#sessions.values()) session.goAway(reason);
  }

  close(reason: string): void {
    for (const link of this.#unproven.keys()) link.abandon(reason);
    for (const session of [...this.#sessions.values()])
      session.close(CLOSE_CODES.goingAway, reason);
  }

  #settle(link: UnprovenLink): void {
    clearTimeout(this.#unproven.get(link));
    this.#unproven.delete(link);
  }

  #run(peer: LinkedHub, transport: Transport): void {
    const { hubId } = peer;
    const session: AgentSession = new AgentSession(transport, {
      maxStreams: LINK.maxStreams,
      requestWindowBytes: LINK.windowBytes,
      capabilities: {},
      pingIntervalMs: LINK.pingIntervalMs,
      handlers: {
        onHello() {},
        onGoAway() {},
        onRequest: (request) => this.#events.requested(peer, request),
        onNotice: (notice) => this.#events.noticed(peer, notice),
        onClose: () => {
          if (this.#sessions.get(hubId) !== session) return;
          this.#sessions.delete(hubId);
          this.#events.closed(peer);
        },
        onError: (error) => this.#events.bug(error),
      },
    });
    const before = this.#sessions.get(hubId);
    this.#sessions.set(hubId, session);
    before?.close(CLOSE_CODES.replaced, "a newer link took its place");
    if (this.#isLeaving !== undefined) session.goAway(this.#isLeaving);
  }
}
