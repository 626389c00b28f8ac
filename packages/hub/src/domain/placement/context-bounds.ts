import type { Participant } from "../participant.ts";

/** A model server may be restarted with a larger context unnoticed. */
const keptMs = 10 * 60_000;

interface Bound {
  /** of the text of the smallest prompt that was refused */
  textBytes: number;
  untilMs: number;
}

interface PromptLength {
  readonly prompt: { readonly bytes: number };
  readonly textBytes: number;
}

const none: readonly Participant[] = [];

/**
 * Which prompts are too long for the context of a participant's model, learned from its refusals. Contract §3, "Retry":
 * a longer success, a new registration, another model and 10 minutes end a bound.
 */
export class ContextBounds {
  readonly #bounds = new Map<Participant, Bound>();

  /** Its model server refused a prompt that has more tokens than the context. */
  noteRefused(participant: Participant, textBytes: number, nowMs: number): void {
    const known = this.find(participant, nowMs) ?? textBytes;
    this.#bounds.set(participant, {
      textBytes: Math.min(known, textBytes),
      untilMs: nowMs + keptMs,
    });
  }

  /** Its model server read a prompt of this length. */
  noteRead(participant: Participant, textBytes: number): void {
    const bound = this.#bounds.get(participant);
    if (bound !== undefined && textBytes >= bound.textBytes) this.#bounds.delete(participant);
  }

  /** The text bytes from which a prompt is too long; undefined when none was refused lately. */
  find(participant: Participant, nowMs: number): number | undefined {
    const bound = this.#bounds.get(participant);
    if (bound === undefined) return undefined;
    if (nowMs < bound.untilMs) return bound.textBytes;
    this.#bounds.delete(participant);
    return undefined;
  }

  /** With ms until they end. */
  *all(nowMs: number): Iterable<[participant: Participant, textBytes: number, forMs: number]> {
    for (const [participant, { textBytes, untilMs }] of this.#bounds)
      yield [participant, textBytes, untilMs - nowMs];
  }

  /** Takes over a bound of another hub. */
  restore(participant: Participant, textBytes: number, forMs: number, nowMs: number): void {
    this.#bounds.set(participant, { textBytes, untilMs: nowMs + forMs });
  }

  forget(participant: Participant): void {
    this.#bounds.delete(participant);
  }

  /** Those that are too small for a request. */
  tooSmallFor(request: PromptLength, nowMs: number): readonly Participant[] {
    if (this.#bounds.size === 0) return none;
    const found: Participant[] = [];
    for (const participant of this.#bounds.keys()) {
      const bound = this.find(participant, nowMs);
      if (bound === undefined || request.prompt.bytes < bound) continue;
      if (request.textBytes >= bound) found.push(participant);
    }
    return found;
  }
}
