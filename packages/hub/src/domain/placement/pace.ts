import { FirstContentFit } from "./first-content-fit.ts";

/** Older measurements are repeated. */
const freshMs = 10 * 60_000;
/** The same after the first request, which may have loaded the model. */
const firstFreshMs = 60_000;
/** The share of the mean that a request beyond the mean is still expected to need. */
const leastRemainder = 0.2;
const keptShare = 0.8;
/** How long a failed attempt counts against a participant; twice as long after each further one. */
const firstDoubtMs = 5_000;
const longestDoubtMs = 120_000;

/** The form of a response, by which speed is measured. */
export type ResponseForm = "stream" | "whole";

/** The part of a prompt that a participant had to compute, as far as the hub knows. */
interface ComputedPrompt {
  promptBytes: number;
  /** the bytes that were expected not to be in its cache */
  coldBytes: number;
}

/** A pace on its way to another hub. Times are durations in ms, since clocks differ. */
export interface PaceSnapshot {
  readonly stream: readonly number[];
  readonly whole: readonly number[];
  /** since the last sample; absent without one */
  readonly measuredAgoMs?: number | undefined;
  readonly slotMs?: number | undefined;
  readonly loadMs?: number | undefined;
  /** how long its last failure still counts, and the next one will */
  readonly doubtMs?: readonly [leftMs: number, nextMs: number] | undefined;
}

/** How fast a participant is, as its requests show. Times are in ms on the hub's clock, prompts in bytes. */
export class Pace {
  /** from its slot to the first content, over the prompt bytes that were not warm */
  readonly #first: Record<ResponseForm, FirstContentFit> = {
    stream: new FirstContentFit(),
    whole: new FirstContentFit(),
  };
  /** when a request of an unmeasured length was last sent */
  #beyondMs = Number.NEGATIVE_INFINITY;
  #measuredMs = Number.NEGATIVE_INFINITY;
  readonly #answeredMs: Record<ResponseForm, number> = {
    stream: Number.NEGATIVE_INFINITY,
    whole: Number.NEGATIVE_INFINITY,
  };
  #slotMs: number | undefined;
  #loadMs: number | undefined;
  #doubt: { untilMs: number; nextMs: number } | undefined;
  #changes = 0;

  /** Increases with each note. */
  get changes(): number {
    return this.#changes;
  }

  snapshot(nowMs: number): PaceSnapshot {
    const doubt = this.#doubt;
    return {
      stream: this.#first.stream.snapshot(),
      whole: this.#first.whole.snapshot(),
      measuredAgoMs: Number.isFinite(this.#measuredMs) ? nowMs - this.#measuredMs : undefined,
      slotMs: this.#slotMs,
      loadMs: this.#loadMs,
      doubtMs: doubt === undefined ? undefined : [Math.max(0, doubt.untilMs - nowMs), doubt.nextMs],
    };
  }

  /** Takes over the pace that another hub measured. */
  restore(snapshot: PaceSnapshot, nowMs: number): void {
    const { stream, whole, measuredAgoMs, slotMs, loadMs, doubtMs } = snapshot;
    this.#first.stream.restore(stream);
    this.#first.whole.restore(whole);
    this.#measuredMs =
      measuredAgoMs === undefined ? Number.NEGATIVE_INFINITY : nowMs - measuredAgoMs;
    this.#slotMs = slotMs;
    this.#loadMs = loadMs;
    this.#doubt =
      doubtMs === undefined ? undefined : { untilMs: nowMs + doubtMs[0], nextMs: doubtMs[1] };
    this.#changes++;
  }

  /**
   * A request had its first content, or its whole response, on a model that was loaded.
   *
   * @param promptMs - of it, what the model server says that the prompt took
   */
  noteFirst(
    form: ResponseForm,
    prompt: ComputedPrompt,
    tookMs: number,
    nowMs: number,
    promptMs?: number,
  ): void {
    this.#changes++;
    const fit = this.#first[form];
    // The time that was not spent on the prompt is the fixed part.
    if (promptMs !== undefined && promptMs < tookMs) fit.add(0, tookMs - promptMs);
    fit.add(likelyBytes(fit, prompt, tookMs), tookMs);
    this.#measuredMs = nowMs;
    this.#doubt = undefined;
  }

  /** A response has begun, even one that shows no speed, such as a refusal. */
  noteAnswer(form: ResponseForm, nowMs: number): void {
    this.#answeredMs[form] = nowMs;
  }

  /** A request is sent. */
  noteSent(form: ResponseForm, coldBytes: number, nowMs: number): void {
    if (this.#first[form].isBeyond(coldBytes)) this.#beyondMs = nowMs;
  }

  /**
   * Whether only a request can show how fast it is: no response of this form has begun lately, or the prompt is far
   * longer than all measured prompts, and no such prompt was sent lately.
   */
  isUntried(form: ResponseForm, coldBytes: number, nowMs: number): boolean {
    const isBeyond = this.#first[form].isBeyond(coldBytes) && nowMs - this.#beyondMs > freshMs;
    return isBeyond || (nowMs - this.#answeredMs[form] > freshMs && !this.#isMeasured(form, nowMs));
  }

  #isMeasured(form: ResponseForm, nowMs: number): boolean {
    const { count } = this.#first[form];
    return count > 0 && nowMs - this.#measuredMs <= (count > 1 ? freshMs : firstFreshMs);
  }

  /** A request failed and moved to another participant. */
  noteFailure(nowMs: number): void {
    this.#changes++;
    const lastsMs = this.#doubt?.nextMs ?? firstDoubtMs;
    this.#doubt = { untilMs: nowMs + lastsMs, nextMs: Math.min(2 * lastsMs, longestDoubtMs) };
  }

  /** Whether a request failed here a short while ago: other participants come first, however slow. */
  isDoubtful(nowMs: number): boolean {
    return this.#doubt !== undefined && nowMs < this.#doubt.untilMs;
  }

  /** A request left its slot. */
  noteSlot(heldMs: number): void {
    this.#changes++;
    this.#slotMs = mean(this.#slotMs, heldMs);
  }

  /** A request was the one that loaded the model. */
  noteLoad(coldBytes: number, tookMs: number): void {
    this.#changes++;
    // That response showed no speed; the next one may.
    this.#answeredMs.stream = this.#answeredMs.whole = Number.NEGATIVE_INFINITY;
    const usual = this.#first.stream.at(coldBytes) ?? 0;
    this.#loadMs = mean(this.#loadMs, Math.max(0, tookMs - usual));
  }

  /** How long loading the model takes; undefined until it was seen. */
  get loadMs(): number | undefined {
    return this.#loadMs;
  }

  /** From its slot to the first content. @returns undefined while too little, or nothing lately, was measured */
  expectedFirstMs(form: ResponseForm, coldBytes: number, nowMs: number): number | undefined {
    return this.#isMeasured(form, nowMs) ? this.#first[form].at(coldBytes) : undefined;
  }

  /** How fast it reads a prompt; undefined while it was not measured, or where length made no difference. */
  promptBytesPerSecond(form: ResponseForm): number | undefined {
    const fit = this.#first[form];
    const msPerByte = fit.slope;
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

/**
 * A prompt that took the time of a cold one was not warm: another request had its slot, or the cache had dropped it.
 * Counted as warm, it would make warm prompts look slow and cold ones fast.
 */
function likelyBytes(
  fit: FirstContentFit,
  { promptBytes, coldBytes }: ComputedPrompt,
  tookMs: number,
) {
  const warmMs = fit.at(coldBytes);
  const coldMs = fit.at(promptBytes);
  if (warmMs === undefined || coldMs === undefined) return coldBytes;
  return Math.abs(tookMs - coldMs) < Math.abs(tookMs - warmMs) ? promptBytes : coldBytes;
}

function mean(known: number | undefined, sample: number): number {
  return known === undefined ? sample : known * keptShare + sample * (1 - keptShare);
}
