import { randomUUID } from "node:crypto";
import { type AgentSession, CLOSE_CODES, type TunnelStatus } from "@roomhub/tunnel";
import type { DialStop } from "./dial-course.ts";
import type { Verdict } from "./hub-verdict.ts";
import { RetiredTunnels } from "./retired-tunnels.ts";
import type { ParticipantTiming } from "../timing.ts";
import { TunnelConnection, type TunnelConnectionOptions } from "./tunnel-connection.ts";

export interface TunnelSessionOptions extends Pick<
  TunnelConnectionOptions,
  "env" | "mask" | "maxStreams" | "capabilities" | "status" | "onRequest" | "onFault"
> {
  /** ms, on a clock that counts the time that this machine slept */
  nowMs: () => number;
  /** A proxy that is started again is there by then; a hub that has ended has no session any more. */
  resumeRefusedMs: number;
  /** HELLO was received: requests follow. @param resumed - when the streams of an earlier connection go on */
  onOpened: (resumed: Resumed | undefined) => void;
  /** The hub is stopping, or the room has another home. */
  onGoAway: () => void;
  /** The connection ended, or a dial failed. @param waiting - streams that wait for the next connection */
  onEnded: (verdict: Verdict, waiting: number) => void;
}

export interface Resumed {
  /** since the connection broke */
  afterMs: number;
  /** the streams that go on */
  streams: number;
}

/** A session whose connection broke. */
interface Gap {
  session: AgentSession;
  /** where its connection was */
  stop: DialStop;
  sinceMs: number;
  /** when it broke */
  streams: number;
  /** Nothing listens at the hub's address since then. */
  refusedSinceMs: number | undefined;
}

interface Dial extends Pick<
  TunnelConnectionOptions,
  "url" | "token" | "known" | "fence" | "reachMs"
> {
  timing: TunnelConnectionOptions["timing"] & Pick<ParticipantTiming, "resumeReachMs">;
}

/** To reach the hub for streams that wait may take this many times as long as the fastest time. */
const patience = 4;

/**
 * The tunnel to the hub, over one connection after the other: the session of one that broke is kept, and the next dial
 * presents it to the hub.
 */
export class TunnelSession {
  readonly #options: TunnelSessionOptions;
  readonly #bootId = randomUUID();
  readonly #retired = new RetiredTunnels();
  #connection: TunnelConnection | undefined;
  #gap: Gap | undefined;
  #goAwayReason: string | undefined;
  #fastestReachMs = Infinity;
  /** the last that was dialled, where rooms have homes */
  #hubUrl: URL | undefined;

  constructor(options: TunnelSessionOptions) {
    this.#options = options;
  }

  /** Opens a connection in place of the one so far. */
  dial(to: Dial): void {
    this.hangUp("dialling again");
    const { nowMs, onOpened, onEnded, ...shared } = this.#options;
    const dialledMs = nowMs();
    this.#hubUrl = to.fence.highest > 0 ? to.url : undefined;
    const connection = new TunnelConnection({
      ...shared,
      ...to,
      reachMs: this.#reachLimitMs(to.timing) ?? to.reachMs,
      // A hub that is not waited for has lost it: any other one knows the room's next home.
      resumesAt: to.fence.highest > 0 && this.isHubAwaited ? this.#waiting?.stop : undefined,
      onReached: () => {
        this.#fastestReachMs = Math.min(this.#fastestReachMs, nowMs() - dialledMs);
      },
      bootId: this.#bootId,
      resumes: this.#waiting?.session,
      onOpened: (resumed) => {
        onOpened(this.#endGap(resumed));
      },
      onEnded: (verdict, broken) => {
        this.#connection = undefined;
        if (broken !== undefined) this.#keep(broken, connection.stop);
        this.#noteRefusal(verdict.isRefused === true);
        onEnded(verdict, this.waitingStreams);
      },
    });
    this.#connection = connection;
    if (this.#goAwayReason !== undefined) connection.goAway(this.#goAwayReason);
  }

  sendStatus(status: TunnelStatus): void {
    this.#connection?.sendStatus(status);
  }

  /** No new requests; running ones continue, also over other connections. */
  goAway(reason: string): void {
    this.#goAwayReason = reason;
    this.#connection?.goAway(reason);
    this.#waiting?.session.goAway(reason);
  }

  /** Streams with an incomplete response. */
  get activeStreams(): number {
    const { session } = this.#waiting ?? {};
    const own = session?.activeStreams ?? this.#connection?.activeStreams ?? 0;
    return own + this.#retired.activeStreams;
  }

  /** How many streams the connection had that broke, while they wait for another one. */
  get waitingStreams(): number {
    return this.#waiting?.streams ?? 0;
  }

  /** Streams wait, and the hub that has them gets time to come back before another one is joined. */
  get isHubAwaited(): boolean {
    const gap = this.#waiting;
    if (gap === undefined || gap.streams === 0) return false;
    const { nowMs: now, resumeRefusedMs } = this.#options;
    const nowMs = now();
    const isGone =
      gap.refusedSinceMs !== undefined && nowMs - gap.refusedSinceMs >= resumeRefusedMs;
    return !isGone && nowMs - gap.sinceMs < gap.session.resumeMs / 2;
  }

  /** @param isConnected - retired connections without streams are not needed any more */
  tick(isConnected: boolean): void {
    const nowMs = this.#options.nowMs();
    this.#connection?.tick(nowMs);
    this.#waiting?.session.tick(nowMs);
    this.#retired.tick(nowMs, isConnected, this.#hubUrl);
  }

  /** The machine slept. */
  wake(): void {
    this.#connection?.wake(this.#options.nowMs());
  }

  /** The connection serves what runs on it, beside the next one. @returns false when there is none */
  retire(): boolean {
    const connection = this.#connection;
    if (connection === undefined) return false;
    this.#connection = undefined;
    this.#retired.add(connection);
    return true;
  }

  /** Closes the connection. A session that waits for another one goes on waiting. */
  hangUp(reason: string): void {
    this.#connection?.close(CLOSE_CODES.done, reason);
    this.#connection = undefined;
  }

  /** Ends the streams, also those that wait. */
  giveUp(reason: string): void {
    this.hangUp(reason);
    this.#gap?.session.close(CLOSE_CODES.done, reason);
    this.#gap = undefined;
  }

  close(reason: string): void {
    this.giveUp(reason);
    this.#retired.close();
  }

  /** The session ends by itself when its time is over or a hub does not have it. */
  get #waiting(): Gap | undefined {
    return this.#gap?.session.isInterrupted === true ? this.#gap : undefined;
  }

  #keep(session: AgentSession, stop: DialStop): void {
    const { activeStreams: streams } = session;
    const sinceMs = this.#options.nowMs();
    this.#gap = { session, stop, sinceMs, streams, refusedSinceMs: undefined };
  }

  #noteRefusal(isRefused: boolean): void {
    const gap = this.#gap;
    if (gap === undefined) return;
    gap.refusedSinceMs = isRefused ? (gap.refusedSinceMs ?? this.#options.nowMs()) : undefined;
  }

  #endGap(session: AgentSession | undefined): Resumed | undefined {
    const gap = this.#gap;
    this.#gap = undefined;
    if (gap === undefined || session === undefined) return undefined;
    return { afterMs: this.#options.nowMs() - gap.sinceMs, streams: session.activeStreams };
  }

  /**
   * A packet that was lost is sent again after 1, 3 and 7 s: where the network was gone, a new dial is faster. A hub that was
   * reached has the usual time, since its handshake may be slow.
   */
  #reachLimitMs({ resumeReachMs }: Dial["timing"]): number | undefined {
    if (this.waitingStreams === 0) return undefined;
    const fastestMs = Number.isFinite(this.#fastestReachMs) ? this.#fastestReachMs : 0;
    return Math.max(resumeReachMs, patience * fastestMs);
  }
}
