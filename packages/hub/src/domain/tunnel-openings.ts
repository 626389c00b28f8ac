import type { Participant } from "./participant.ts";

/** How often tunnels were opened and refused lately with each participant's token. Reads no clock. */
export class TunnelOpenings {
  /** by token digest, which is another object for another token */
  readonly #openedMs = new WeakMap<Uint8Array, number[]>();
  /** the last refusal */
  readonly #refusedMs = new Map<Participant, number>();
  readonly #most: number;
  readonly #withinMs: number;

  constructor(most: number, withinMs: number) {
    this.#most = most;
    this.#withinMs = withinMs;
  }

  /** @returns whether one more may open, which is then counted */
  take(participant: Participant, nowMs: number): boolean {
    const { tokenDigest } = participant;
    const recent = (this.#openedMs.get(tokenDigest) ?? []).filter(
      (openedMs) => nowMs - openedMs < this.#withinMs,
    );
    if (recent.length >= this.#most) {
      this.#refusedMs.set(participant, nowMs);
      return false;
    }
    this.#openedMs.set(tokenDigest, [...recent, nowMs]);
    return true;
  }

  /** Forgets the refusals of a participant. */
  forgive(participant: Participant): void {
    this.#refusedMs.delete(participant);
  }

  /** Takes the participants without a refusal for as long as openings count. */
  takeSettled(nowMs: number): Participant[] {
    const settled = [...this.#refusedMs]
      .filter(([, refusedMs]) => nowMs - refusedMs >= this.#withinMs)
      .map(([participant]) => participant);
    for (const participant of settled) this.forgive(participant);
    return settled;
  }
}

const most = 60;
const withinMs = 60_000;

/**
 * How often each session was resumed lately, so that a failing path is not dialled all the time. Contract §3, "A lost
 * connection". Reads no clock.
 */
export class TunnelResumes {
  readonly #resumedMs = new WeakMap<object, number[]>();

  /**
   * @param session - counted per session
   * @returns whether it may have one more connection, which is then counted
   */
  take(session: object, nowMs: number): boolean {
    const recent = (this.#resumedMs.get(session) ?? []).filter(
      (resumedMs) => nowMs - resumedMs < withinMs,
    );
    const mayResume = recent.length < most;
    if (mayResume) recent.push(nowMs);
    this.#resumedMs.set(session, recent);
    return mayResume;
  }
}
