import type { Participant } from "../participant.ts";

/** A session, and where it goes. */
interface SessionBinding {
  /** its keyed hash */
  session: string;
  participant: Participant;
  /** ms on the hub's clock */
  usedMs: number;
}

const keptMs = 15 * 60_000;
const maxBindings = 4_096;

/**
 * The participants of a room's sessions that select any: the first random choice is kept. Contract §3, "Conversations":
 * the 4,096 used last, for 15 minutes.
 */
export class SessionBindings {
  /** by keyed hash of the session, least recently used first */
  readonly #bindings = new Map<string, { participant: Participant; usedMs: number }>();

  get size(): number {
    return this.#bindings.size;
  }

  find(session: string, nowMs: number): Participant | undefined {
    const binding = this.#bindings.get(session);
    return binding === undefined || nowMs - binding.usedMs > keptMs
      ? undefined
      : binding.participant;
  }

  /** The least recently used first. */
  *all(): Iterable<SessionBinding> {
    for (const [session, { participant, usedMs }] of this.#bindings)
      yield { session, participant, usedMs };
  }

  bind(session: string, participant: Participant, nowMs: number): void {
    this.#bindings.delete(session);
    this.#bindings.set(session, { participant, usedMs: nowMs });
    if (this.#bindings.size <= maxBindings) return;
    for (const oldest of this.#bindings.keys()) {
      this.#bindings.delete(oldest);
      return;
    }
  }
}
