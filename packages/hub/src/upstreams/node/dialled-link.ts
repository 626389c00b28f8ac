import { CLOSE_CODES, HubSession, type Transport } from "@roomhub/tunnel";
import { ForwardHeads } from "./forward-head.ts";
import { LinkHandshake, type LinkedHub } from "./handshake.ts";
import { proveLink, type UnprovenLink } from "./link-transport.ts";
import type { OpenLink } from "./node-upstream.ts";
import { type Dial, type LinkTarget, LINK, type LinkSettings } from "./link-settings.ts";

export interface DialledLinkEvents {
  opened(peer: LinkedHub): void;
  closed(peer: LinkedHub, reason: string): void;
  noticed(peer: LinkedHub, notice: Record<string, unknown>): void;
  bug(error: unknown): void;
}

type State =
  | { kind: "dialling"; attempt: { abandon(reason: string): void } }
  | { kind: "open"; session: HubSession; peer: LinkedHub; heads: ForwardHeads }
  | { kind: "waiting"; timer: NodeJS.Timeout }
  | { kind: "closed" };

const leastDelayMs = 250;
const longestDelayMs = 5_000;

/**
 * The link over which this hub asks another one; dials again until it is closed.
 *
 * ```
 * dialling ── HELLO ──► open ── lost ──► waiting ── 0.25–5 s ──► dialling
 * dialling ── refused, failed, 5 s ────► waiting
 * open ── letGo(), lost ───────────────► closed
 * any ── close() ──────────────────────► closed
 * ```
 */
export class DialledLink {
  readonly #settings: LinkSettings;
  readonly #dial: Dial;
  readonly #events: DialledLinkEvents;
  #target: LinkTarget;
  #state: State = { kind: "closed" };
  #failures = 0;
  #isLeft = false;
  #problem: string | undefined;

  constructor(target: LinkTarget, settings: LinkSettings, dial: Dial, events: DialledLinkEvents) {
    this.#target = target;
    this.#settings = settings;
    this.#dial = dial;
    this.#events = events;
    this.#connect();
  }

  /** undefined unless requests may be sent over it now. */
  get open(): OpenLink | undefined {
    return this.#state.kind === "open" && this.#state.session.isReady ? this.#state : undefined;
  }

  get session(): HubSession | undefined {
    return this.open?.session;
  }

  /** Why it is not open; undefined while it is, and before the first dial has failed. */
  get problem(): string | undefined {
    return this.#state.kind === "open" ? undefined : this.#problem;
  }

  /** Where the next dial goes. A hub that has restarted is dialled at once. */
  retarget(target: LinkTarget): void {
    const isNew = target.bootId !== this.#target.bootId || target.linkUrl !== this.#target.linkUrl;
    this.#target = target;
    this.#isLeft = false;
    if (!isNew || this.#state.kind !== "waiting") return;
    clearTimeout(this.#state.timer);
    this.#failures = 0;
    this.#connect();
  }

  tick(nowMs: number): void {
    if (this.#state.kind === "open") this.#state.session.tick(nowMs);
  }

  goAway(reason: string): void {
    if (this.#state.kind === "open") this.#state.session.goAway(reason);
  }

  /** Its hub has left: what runs may finish, and it is not dialled again. @returns false when nothing runs */
  letGo(): boolean {
    this.#isLeft = this.#state.kind === "open" && this.#state.session.activeStreams > 0;
    return this.#isLeft;
  }

  /** It is closed for good. */
  get isOver(): boolean {
    return this.#state.kind === "closed";
  }

  close(reason: string): void {
    const state = this.#state;
    this.#state = { kind: "closed" };
    if (state.kind === "waiting") clearTimeout(state.timer);
    if (state.kind === "dialling") state.attempt.abandon(reason);
    if (state.kind !== "open") return;
    state.session.close(CLOSE_CODES.goingAway, reason);
    this.#events.closed(state.peer, reason);
  }

  #connect(): void {
    let unproven: UnprovenLink | undefined;
    let hasEnded = false;
    const timer = setTimeout(() => attempt.abandon("no proof in time"), LINK.handshakeMs);
    const fail = (reason: string): void => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      if (this.#state.kind === "dialling" && this.#state.attempt === attempt) this.#redial(reason);
    };
    const dialled = this.#dial(this.#target.linkUrl, {
      failed: fail,
      opened: (transport) => {
        if (hasEnded) return transport.terminate();
        const handshake = this.#handshake();
        unproven = proveLink(transport, handshake, {
          failed: fail,
          proven: (peer, proven) => {
            hasEnded = true;
            clearTimeout(timer);
            this.#run(peer, proven);
          },
        });
      },
    });
    const attempt = {
      abandon(reason: string) {
        unproven?.abandon(reason);
        dialled.abandon();
        fail(reason);
      },
    };
    this.#state = { kind: "dialling", attempt };
  }

  #handshake(): LinkHandshake {
    const { own, secret, randomBytes } = this.#settings;
    const expectedHubId = this.#target.hubId;
    return new LinkHandshake({
      side: "dialler",
      own,
      secret,
      nonce: randomBytes(32),
      expectedHubId,
    });
  }

  #run(peer: LinkedHub, transport: Transport): void {
    let hasGreeted = false;
    const session = new HubSession(transport, {
      responseWindowBytes: LINK.windowBytes,
      maxStreams: LINK.maxStreams,
      maxResponseHeadBytes: undefined,
      pingIntervalMs: LINK.pingIntervalMs,
      handlers: {
        onHello: () => {
          hasGreeted = true;
          this.#failures = 0;
          this.#problem = undefined;
          this.#events.opened(peer);
        },
        onStatus() {},
        onLife() {},
        onGoAway() {},
        onNotice: (notice) => this.#events.noticed(peer, notice),
        onClose: (code, reason) => {
          if (this.#state.kind !== "open" || this.#state.session !== session) return;
          const why = reason === "" ? `the link closed with ${code}` : reason;
          this.#redial(why);
          if (hasGreeted) this.#events.closed(peer, why);
        },
        onError: (error) => this.#events.bug(error),
      },
    });
    this.#state = { kind: "open", session, peer, heads: new ForwardHeads() };
  }

  /** Full jitter, so that hubs that lost one another do not come back in one instant. */
  #redial(reason: string): void {
    this.#problem = reason;
    if (this.#isLeft) {
      this.#state = { kind: "closed" };
      return;
    }
    const mostMs = Math.min(longestDelayMs, 2 * leastDelayMs * 2 ** Math.min(this.#failures++, 8));
    const delayMs = leastDelayMs + this.#settings.random() * (mostMs - leastDelayMs);
    const timer = setTimeout(() => this.#connect(), delayMs);
    this.#state = { kind: "waiting", timer };
  }
}
