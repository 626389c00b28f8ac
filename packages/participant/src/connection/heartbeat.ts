import { judgeHeartbeat, type Verdict } from "./hub-verdict.ts";

export interface HeartbeatOptions {
  intervalMs: number;
  send: (token: string) => Promise<unknown>;
  /** The hub does not have this participant, or refuses it. Other failures are not reported. */
  onVerdict: (verdict: Verdict) => void;
}

/** Sends a heartbeat every 10 s, one at a time. Interface §3. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #token: string | undefined;
  #dueMs = 0;
  #isRunning = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** After a join, which counts as a heartbeat. */
  begin(token: string, nowMs: number): void {
    this.#token = token;
    this.#dueMs = nowMs + this.#options.intervalMs;
  }

  /** While not joined: the response to a pending heartbeat is ignored. */
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
