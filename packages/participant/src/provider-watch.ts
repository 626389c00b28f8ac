import type { ModelServer } from "@roomhub/provider";

/** Looks at the model server whenever its verdict says that a look is due. */
export class ProviderWatch {
  readonly #server: Pick<ModelServer, "lookInMs" | "probe" | "startLook">;
  readonly #answerMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isStopped = false;

  /** @param answerMs - how long a look waits for an answer */
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

  /** The next look is due earlier than it was. */
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
