import type { Participant } from "./participant.ts";

/**
 * Finds overdue participants without looking at all of them. Interface §3: silence of exactly 30 000 ms is still alive.
 *
 * Participants are in buckets by their deadline. A sign of life only writes `lastSeenMs`; at the time of a bucket, each
 * of its participants is overdue or moves to the bucket of its new deadline. So a participant costs one step per
 * deadline, however many signs of life it gives.
 */
export class LivenessTracker {
  readonly #buckets = new Map<number, Set<Participant>>();
  readonly #bucketOf = new Map<Participant, number>();
  readonly #offlineAfterMs: number;
  readonly #bucketMs: number;
  #nextBucket = 0;

  /** @param bucketMs - how late a deadline may be noticed, in addition to the caller's period */
  constructor(offlineAfterMs: number, bucketMs: number) {
    this.#offlineAfterMs = offlineAfterMs;
    this.#bucketMs = bucketMs;
  }

  /** Begins to watch an online participant, or watches it from its new deadline. */
  watch(participant: Participant): void {
    this.forget(participant);
    const deadlineMs = participant.presence.lastSeenMs + this.#offlineAfterMs;
    const index = Math.max(Math.floor(deadlineMs / this.#bucketMs), this.#nextBucket);
    let bucket = this.#buckets.get(index);
    if (bucket === undefined) this.#buckets.set(index, (bucket = new Set()));
    bucket.add(participant);
    this.#bucketOf.set(participant, index);
  }

  forget(participant: Participant): void {
    const index = this.#bucketOf.get(participant);
    if (index === undefined) return;
    this.#bucketOf.delete(participant);
    const bucket = this.#buckets.get(index);
    bucket?.delete(participant);
    if (bucket?.size === 0) this.#buckets.delete(index);
  }

  /**
   * Takes the participants that have been silent for too long. Reads no clock.
   *
   * @param nowMs - on the same clock as `lastSeenMs`
   */
  takeOverdue(nowMs: number): Participant[] {
    const overdue: Participant[] = [];
    const current = Math.floor(nowMs / this.#bucketMs);
    const due = [...this.#buckets.keys()].filter((index) => index <= current).sort((a, b) => a - b);
    this.#nextBucket = current + 1;
    for (const participant of due.flatMap((index) => [...(this.#buckets.get(index) ?? [])])) {
      // After a freeze the clock is set back, so a sign of life may lie in the future.
      participant.presence.lastSeenMs = Math.min(participant.presence.lastSeenMs, nowMs);
      if (nowMs - participant.presence.lastSeenMs > this.#offlineAfterMs) {
        this.forget(participant);
        overdue.push(participant);
      } else {
        this.watch(participant);
      }
    }
    return overdue;
  }
}
