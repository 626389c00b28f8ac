import { Connection } from "./connection.ts";
import { type RequestShape, requestBytes, type Target } from "./target.ts";

const atOnce = 250;

/** Streams that are opened and stay open while the hub's memory is measured. */
export class HeldStreams {
  readonly #connections: Connection[] = [];
  readonly #problems: string[] = [];

  /** Resolves when each has its first token. @throws Error when one breaks before it */
  async open(target: Target, shape: RequestShape, count: number): Promise<void> {
    const requests = target.models.map((model) => requestBytes(target, model, shape));
    for (let at = 0; at < count; at += atOnce) {
      const part = Array.from({ length: Math.min(atOnce, count - at) }, (_, index) =>
        this.#openOne(target.port, requests[(at + index) % requests.length] as Buffer),
      );
      await Promise.all(part);
    }
  }

  /** @returns what broke meanwhile */
  close(): string[] {
    for (const connection of this.#connections) connection.close();
    return this.#problems;
  }

  #openOne(port: number, request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const broken = (why: string) => {
        this.#problems.push(why);
        reject(new Error(why));
      };
      const connection = new Connection({ port }, request, {
        onFirstByte: () => resolve(),
        onTokens: () => undefined,
        onResponse: (status) => broken(`ended with ${status}`),
        onBroken: broken,
      });
      this.#connections.push(connection);
      connection.send();
    });
  }
}
