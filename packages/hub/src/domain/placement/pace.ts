import { LineFit } from "./line-fit.ts";

/** Two, so that one unlucky first request does not decide: it may have loaded the model. */
const trustedSamples = 2;
/** What was measured longer ago is measured again. */
const freshMs = 10 * 60_000;
/** Of the mean: what a request that ran longer than the mean is still expected to need. */
const leastRemainder = 0.2;
const keptShare = 0.8;

/** What a participant needs for a request, by how its response comes. */
export type ResponseForm = "stream" | "whole";

/** How fast a participant is, as its requests show. Times are in ms on the hub's clock, prompts in bytes. */
export class Pace {
  /** from its slot to the first content, over the prompt bytes that were not warm */
  readonly #first: Record<ResponseForm, LineFit> = { stream: new LineFit(), whole: new LineFit() };
  #measuredMs = Number.NEGATIVE_INFINITY;
  #slotMs: number | undefined;
  #loadMs: number | undefined;

  /** A request had its first content, or its whole response, on a model that was loaded. */
  noteFirst(form: ResponseForm, coldBytes: number, tookMs: number, nowMs: number): void {
    this.#first[form].add(coldBytes, tookMs);
    this.#measuredMs = nowMs;
  }

  /** A request left its slot. */
  noteSlot(heldMs: number): void {
    this.#slotMs = mean(this.#slotMs, heldMs);
  }

  /** A request was the one that loaded the model. */
  noteLoad(coldBytes: number, tookMs: number): void {
    const usual = this.#first.stream.at(coldBytes) ?? 0;
    this.#loadMs = mean(this.#loadMs, Math.max(0, tookMs - usual));
  }

  /** How long loading the model takes; undefined until it was seen. */
  get loadMs(): number | undefined {
    return this.#loadMs;
  }

  /** From its slot to the first content. @returns undefined while too little, or nothing lately, was measured */
  expectedFirstMs(form: ResponseForm, coldBytes: number, nowMs: number): number | undefined {
    if (nowMs - this.#measuredMs > freshMs) return undefined;
    const fit = this.#first[form];
    return fit.count < trustedSamples ? undefined : fit.at(coldBytes);
  }

  /** How fast it reads a prompt; undefined while it was not measured on prompts of different lengths. */
  promptBytesPerSecond(form: ResponseForm): number | undefined {
    const fit = this.#first[form];
    const msPerByte = fit.count < trustedSamples ? undefined : fit.slope;
    return msPerByte === undefined ? undefined : 1_000 / msPerByte;
  }

  /**
   * Until the n-th slot from now is free.
   *
   * @param startedMs - of the requests that run, in any order
   * @param ahead - requests that take a freed slot first
   * @returns undefined before the first request ended
   */
  expectedSlotMs(startedMs: readonly number[], ahead: number, nowMs: number): number | undefined {
    const slotMs = this.#slotMs;
    if (slotMs === undefined) return undefined;
    const left = startedMs
      .map((since) => Math.max(slotMs - (nowMs - since), slotMs * leastRemainder))
      .sort((one, other) => one - other);
    if (left.length === 0) return 0;
    const rounds = Math.floor(ahead / left.length);
    return (left[ahead % left.length] ?? 0) + rounds * slotMs;
  }
}

function mean(known: number | undefined, sample: number): number {
  return known === undefined ? sample : known * keptShare + sample * (1 - keptShare);
}
