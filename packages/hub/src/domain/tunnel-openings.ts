import type { Participant } from "./participant.ts";

/** How often something happened lately, per object. Reads no clock. */
class RecentUse {
  readonly #usedMs = new WeakMap<object, number[]>();
  readonly #most: number;
  readonly #withinMs: number;

  constructor(most: number, withinMs: number) {
    this.#most = most;
    this.#withinMs = withinMs;
  }

  /** @returns whether it may happen once more, which is then counted */
  take(key: object, nowMs: number): boolean {
    const used = this.#usedMs.get(key) ?? [];
    const recent = used.filter((usedMs) => nowMs - usedMs < this.#withinMs);
    const mayUse = recent.length < this.#most;
    this.#usedMs.set(key, mayUse ? [...recent, nowMs] : recent);
    return mayUse;
  }
}

/** How often tunnels were opened and refused lately with each participant's token. */
export class TunnelOpenings {
  readonly #opened: RecentUse;
  /** the last refusal */
  readonly #refusedMs = new Map<Participant, number>();
  readonly #withinMs: number;

  constructor(most: number, withinMs: number) {
    this.#opened = new RecentUse(most, withinMs);
    this.#withinMs = withinMs;
  }

  /** @returns whether one more may open, which is then counted */
  take(participant: Participant, nowMs: number): boolean {
    // The digest of another token is another object.
    const mayOpen = this.#opened.take(participant.tokenDigest, nowMs);
    if (!mayOpen) this.#refusedMs.set(participant, nowMs);
    return mayOpen;
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

/** How often each session was resumed lately, so that a failing path is not dialled all the time. Contract §3, "A lost connection". */
export class TunnelResumes extends RecentUse {
  constructor() {
    super(60, 60_000);
  }
}
