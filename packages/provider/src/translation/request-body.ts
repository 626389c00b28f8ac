import type { RequestRefusal } from "./surface-translation.ts";

/** The body of a request, kept until it was passed on or translated. */
export class RequestBody {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Too long to be translated. */
  get isTooLong(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  get chunks(): Buffer[] {
    return this.#chunks;
  }

  /** @param chunk - kept as it is: copy a view into something larger */
  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** Its length still counts. */
  clear(): void {
    this.#chunks = [];
  }
}

export function tooLong(maxBodyBytes: number): RequestRefusal {
  const mib = maxBodyBytes / (1024 * 1024);
  return {
    status: 413,
    message: `The request body is larger than ${mib} MiB, the most that can be translated for a provider of chat completions.`,
    param: "",
    code: "request_too_large",
  };
}
