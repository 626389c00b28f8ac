import type { ProbeResult } from "@roomhub/provider";
import type { ParticipantTiming } from "./timing.ts";

export interface ProviderWatchOptions {
  probe: () => Promise<ProbeResult>;
  timing: ParticipantTiming;
  onUp: () => void;
  onDown: (reason: string) => void;
}

/** Knows whether the provider answers. Asks every 30 s, every 5 s while it is down; running requests spare the asking. */
export class ProviderWatch {
  readonly #options: ProviderWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #downReason: string | undefined;
  #isChecking = false;
  #isStopped = false;
  #hasLife = false;
  #running = 0;

  constructor(options: ProviderWatchOptions) {
    this.#options = options;
  }

  /** undefined while it is up, or not asked yet */
  get downReason(): string | undefined {
    return this.#downReason;
  }

  start(): void {
    this.#check();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  requestStarted(): void {
    this.#running += 1;
  }

  requestEnded(): void {
    this.#running -= 1;
  }

  /** An answer came: it is alive. */
  noteAnswer(): void {
    this.#hasLife = true;
    if (this.#downReason !== undefined) this.#settle({ answered: true });
  }

  /** A request did not reach it: look now instead of in half a minute. */
  noteFailure(): void {
    this.#hasLife = false;
    if (!this.#isChecking && this.#downReason === undefined) this.#schedule(0);
  }

  #check(): void {
    this.#isChecking = true;
    this.#options.probe().then(
      (found) => {
        this.#isChecking = false;
        this.#settle(found);
      },
      // probe() does not reject; were it to, the next round asks again.
      () => {
        this.#isChecking = false;
        this.#schedule(this.#options.timing.providerCheckMs);
      },
    );
  }

  #settle(found: ProbeResult): void {
    if (this.#isStopped) return;
    const wasDown = this.#downReason !== undefined;
    // A busy server may leave the question unanswered while it generates: no proof of anything.
    const isUnproven = found.isTimeout === true && this.#running > 0;
    const isUp = found.answered || this.#hasLife || (isUnproven && !wasDown);
    const { timing, onUp, onDown } = this.#options;
    this.#hasLife = false;
    this.#schedule(isUp ? timing.providerCheckMs : timing.providerRecheckMs);
    if (isUp) {
      this.#downReason = undefined;
      if (wasDown) onUp();
      return;
    }
    this.#downReason = found.problem ?? "its model server does not answer";
    if (!wasDown) onDown(this.#downReason);
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => this.#onTimer(), delayMs);
  }

  #onTimer(): void {
    if (this.#downReason === undefined && this.#hasLife && this.#running > 0) {
      this.#hasLife = false;
      return this.#schedule(this.#options.timing.providerCheckMs);
    }
    this.#check();
  }
}
