import { findUsage, mergeUsage, SURFACES, type Usage } from "@roomhub/protocol";
import type { ResponseHead } from "@roomhub/provider";
import { isEventStream, type ResponseMeter } from "../response-meter.ts";

/** Surfaces whose tokens count; the others only count tokens of a prompt. */
const surfaces = new Map(
  SURFACES.filter(({ path }) => !/token/.test(path)).map((surface) => [
    `/${surface.path}`,
    surface,
  ]),
);

/** Where a messages stream reports its input. */
const headBytes = 4_096;
const bytesPerToken = 4;

/**
 * Counts the tokens of one request against a budget: those of the provider's usage, cached ones included. Without usage,
 * and at least when the response was cut off: a quarter of the request's bytes, plus one token for each chunk of a stream
 * that has content, or a quarter of the bytes of another response.
 */
export class TokenMeter {
  /** whether a response contains generated text */
  readonly #hasText: boolean;
  readonly #isMessages: boolean;
  readonly #isBilled: boolean;
  #requestBytes = 0;
  #response: ResponseMeter | undefined;
  #isStream = false;
  #responseBytes = 0;
  #head = "";

  constructor(path: string) {
    const surface = surfaces.get(path);
    this.#isBilled = surface !== undefined;
    this.#isMessages = surface?.protocol === "messages";
    this.#hasText = surface !== undefined && surface.protocol !== "embeddings";
  }

  seeRequest(bytes: number): void {
    this.#requestBytes += bytes;
  }

  /** @param meter - of the same response: counts its content, and keeps its end, where usage is */
  begin(meter: ResponseMeter | undefined, { headers }: Pick<ResponseHead, "headers">): void {
    this.#response = meter;
    this.#isStream = isEventStream(headers);
  }

  seeResponse(chunk: Buffer): void {
    this.#responseBytes += chunk.length;
    if (this.#isMessages && this.#isStream && this.#head.length < headBytes) {
      this.#head += chunk.toString("latin1");
    }
  }

  /**
   * The tokens of a response with a 2xx status, or of a request that was cancelled before its response.
   *
   * @param isWhole - the response was complete
   */
  tokens(isWhole: boolean): number {
    if (!this.#isBilled) return 0;
    const usage = this.#usage();
    const estimatedInput = Math.ceil(this.#requestBytes / bytesPerToken);
    const estimatedOutput = this.#estimatedOutput();
    const { inputTokens = estimatedInput, outputTokens = estimatedOutput, totalTokens = 0 } = usage;
    const counted = Math.max(inputTokens + outputTokens, totalTokens);
    // Usage at the beginning of a stream does not include its end.
    return isWhole ? counted : Math.max(counted, estimatedInput + estimatedOutput);
  }

  #estimatedOutput(): number {
    if (!this.#hasText) return 0;
    if (this.#isStream) return this.#response?.contentEvents ?? 0;
    return Math.ceil(this.#responseBytes / bytesPerToken);
  }

  #usage(): Usage {
    const end = this.#response?.usage() ?? {};
    return this.#isMessages && this.#isStream ? mergeUsage(findUsage(this.#head), end) : end;
  }
}
