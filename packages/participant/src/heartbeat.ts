import { judgeHeartbeat, type Verdict } from "./hub-verdict.ts";

export interface HeartbeatOptions {
  intervalMs: number;
  send: (token: string) => Promise<unknown>;
  /** The hub does not know us, or refuses us. Anything else is a blip and not told. */
  onVerdict: (verdict: Verdict) => void;
}

/** Says every 10 s that we are alive. One at a time: a slow hub is not asked twice. Interface §3. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #token: string | undefined;
  #dueMs = 0;
  #isRunning = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Joined: joining counted as a heartbeat. */
  begin(token: string, nowMs: number): void {
    this.#token = token;
    this.#dueMs = nowMs + this.#options.intervalMs;
  }

  /** Not joined (any more): answers to what is on its way are of no interest. */
  pause(): void {
    this.#token = undefined;
  }

  tick(nowMs: number, isUrgent: boolean): void {
    const token = this.#token;
    if (token === undefined || this.#isRunning || (nowMs < this.#dueMs && !isUrgent)) return;
    this.#dueMs = nowMs + this.#options.intervalMs;
    this.#isRunning = true;
    this.#options.send(token).then(
      () => {
        this.#isRunning = false;
      },
      (error: unknown) => {
        this.#isRunning = false;
        const verdict = judgeHeartbeat(error);
        if (verdict !== undefined && token === this.#token) this.#options.onVerdict(verdict);
      },
    );
  }
}
