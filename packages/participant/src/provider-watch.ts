import type { ModelServer } from "@roomhub/provider";

/** Probes the model server whenever its readiness verdict is due for a check. */
export class ProviderWatch {
  readonly #server: Pick<ModelServer, "lookInMs" | "probe" | "startLook">;
  readonly #answerMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isStopped = false;

  /** @param answerMs - timeout of a probe */
  constructor(server: Pick<ModelServer, "lookInMs" | "probe" | "startLook">, answerMs: number) {
    this.#server = server;
    this.#answerMs = answerMs;
  }

  start(): void {
    this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** The next probe is due earlier than scheduled. */
  reschedule(): void {
    clearTimeout(this.#timer);
    if (this.#isLooking || this.#isStopped) return;
    // A timer may fire a fraction of a millisecond early.
    this.#timer = setTimeout(() => this.#look(), Math.ceil(this.#server.lookInMs()));
  }

  #look(): void {
    if (!this.#server.startLook()) return this.reschedule();
    this.#isLooking = true;
    void this.#server.probe(this.#answerMs).finally(() => {
      this.#isLooking = false;
      this.reschedule();
    });
  }
}
