import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Which answers a socket is busy with: into the middle of one nothing else may be written. */
export class SocketAnswers {
  /** the last one, and those before it that were not finished when it began */
  readonly #answers = new WeakMap<Duplex, ServerResponse[]>();

  note(socket: Duplex, answer: ServerResponse): void {
    const answers = this.#answers.get(socket);
    if (answers === undefined) {
      this.#answers.set(socket, [answer]);
      return;
    }
    // More than one only where requests are pipelined.
    while (answers[0]?.writableFinished === true) answers.shift();
    answers.push(answer);
  }

  isMidAnswer(socket: Duplex): boolean {
    const answers = this.#answers.get(socket) ?? [];
    return answers.some((answer) => answer.headersSent && !answer.writableFinished);
  }
}
