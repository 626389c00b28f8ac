import { type AgentSession, CLOSE_CODES, type TunnelStatus } from "@roomhub/tunnel";
import type { DialStop } from "./dial-course.ts";
import type { Verdict } from "./hub-verdict.ts";
import { RetiredTunnels } from "./retired-tunnels.ts";
import type { ParticipantTiming } from "../timing.ts";
import { TunnelConnection, type TunnelConnectionOptions } from "./tunnel-connection.ts";

export interface TunnelSessionOptions extends Pick<
  TunnelConnectionOptions,
  "env" | "mask" | "world" | "maxStreams" | "capabilities" | "status" | "onRequest" | "onFault"
> {
  /** ms, on a clock that counts the time that this machine slept */
  nowMs: () => number;
  /** When nothing listens at the hub's address for so long, the hub has ended; a proxy would have restarted. */
  resumeRefusedMs: number;
  /** HELLO was received: requests follow. @param resumed - when the session of an earlier connection is resumed */
  onOpened: (resumed: Resumed | undefined) => void;
  /** The hub is stopping, or the room has another home. */
  onGoAway: () => void;
  /** The connection ended, or a dial failed. @param waiting - streams that wait for the next connection */
  onEnded: (verdict: Verdict, waiting: number) => void;
}

export interface Resumed {
  /** since the interruption */
  afterMs: number;
  /** with an incomplete response */
  streams: number;
}

/** A session whose connection is lost. */
interface Interruption {
  session: AgentSession;
  /** where its connection was */
  stop: DialStop;
  sinceMs: number;
  /** with an incomplete response then */
  streams: number;
  /** since when nothing listens at the hub's address */
  refusedSinceMs: number | undefined;
}

interface Dial extends Pick<
  TunnelConnectionOptions,
  "url" | "token" | "known" | "fence" | "reachMs"
> {
  timing: TunnelConnectionOptions["timing"] & Pick<ParticipantTiming, "resumeReachMs">;
}

/** Reaching the hub for waiting streams may take this many times as long as the fastest dial so far. */
const patience = 4;

/**
 * The tunnel to the hub, over one connection after the other: an interrupted session is kept, and the next dial presents
 * it to the hub.
 */
export class TunnelSession {
  readonly #options: TunnelSessionOptions;
  /** Names this run of the participant. */
  readonly bootId: string;
  readonly #retired = new RetiredTunnels();
  #connection: TunnelConnection | undefined;
  #interruption: Interruption | undefined;
  #goAwayReason: string | undefined;
  #fastestReachMs = Infinity;
  /** the last that was dialled, where rooms have homes */
  #hubUrl: URL | undefined;

  constructor(options: TunnelSessionOptions) {
    this.#options = options;
    this.bootId = options.world.randomUUID();
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
      // If the hub with the session is no longer waited for, any other hub leads to the room's next home.
      resumesAt: to.fence.highest > 0 && this.isHubAwaited ? this.#waiting?.stop : undefined,
      onReached: () => {
        this.#fastestReachMs = Math.min(this.#fastestReachMs, nowMs() - dialledMs);
      },
      bootId: this.bootId,
      resumes: this.#waiting?.session,
      onOpened: (resumed) => {
        onOpened(this.#endInterruption(resumed));
      },
      onEnded: (verdict, interrupted) => {
        this.#connection = undefined;
        if (interrupted !== undefined) this.#keep(interrupted, connection.stop);
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
    const current = session?.activeStreams ?? this.#connection?.activeStreams ?? 0;
    return current + this.#retired.activeStreams;
  }

  /** The streams of an interrupted session, while they wait for another connection. */
  get waitingStreams(): number {
    return this.#waiting?.streams ?? 0;
  }

  /** Streams wait, and their hub gets time to come back before another one is joined. */
  get isHubAwaited(): boolean {
    const interruption = this.#waiting;
    if (interruption === undefined || interruption.streams === 0) return false;
    const { nowMs: now, resumeRefusedMs } = this.#options;
    const nowMs = now();
    const hasEnded =
      interruption.refusedSinceMs !== undefined &&
      nowMs - interruption.refusedSinceMs >= resumeRefusedMs;
    return !hasEnded && nowMs - interruption.sinceMs < interruption.session.resumeMs / 2;
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

  /** The connection finishes its streams, beside the next one. @returns false when there is none */
  retire(): boolean {
    const connection = this.#connection;
    if (connection === undefined) return false;
    this.#connection = undefined;
    this.#retired.add(connection);
    return true;
  }

  /** Closes the connection. An interrupted session keeps waiting for the next one. */
  hangUp(reason: string): void {
    this.#connection?.close(CLOSE_CODES.done, reason);
    this.#connection = undefined;
  }

  /** Ends the streams, waiting ones included. */
  giveUp(reason: string): void {
    this.hangUp(reason);
    this.#interruption?.session.close(CLOSE_CODES.done, reason);
    this.#interruption = undefined;
  }

  close(reason: string): void {
    this.giveUp(reason);
    this.#retired.close();
  }

  /** The session ends by itself when its time is over or a hub does not have it. */
  get #waiting(): Interruption | undefined {
    return this.#interruption?.session.isInterrupted === true ? this.#interruption : undefined;
  }

  #keep(session: AgentSession, stop: DialStop): void {
    const { activeStreams: streams } = session;
    const sinceMs = this.#options.nowMs();
    this.#interruption = { session, stop, sinceMs, streams, refusedSinceMs: undefined };
  }

  #noteRefusal(isRefused: boolean): void {
    const interruption = this.#interruption;
    if (interruption === undefined) return;
    interruption.refusedSinceMs = isRefused
      ? (interruption.refusedSinceMs ?? this.#options.nowMs())
      : undefined;
  }

  #endInterruption(session: AgentSession | undefined): Resumed | undefined {
    const interruption = this.#interruption;
    this.#interruption = undefined;
    if (interruption === undefined || session === undefined) return undefined;
    return {
      afterMs: this.#options.nowMs() - interruption.sinceMs,
      streams: session.activeStreams,
    };
  }

  /**
   * TCP sends a lost packet again after 1, 3 and 7 s: after a network outage, a new dial is faster. A hub that was reached
   * has the usual time, since its handshake may be slow.
   */
  #reachLimitMs({ resumeReachMs }: Dial["timing"]): number | undefined {
    if (this.waitingStreams === 0) return undefined;
    const fastestMs = Number.isFinite(this.#fastestReachMs) ? this.#fastestReachMs : 0;
    return Math.max(resumeReachMs, patience * fastestMs);
  }
}
