import { findUsage, GENERATED_CONTENT, mergeUsage, SURFACES, type Usage } from "@roomhub/protocol";
import type { ResponseHead } from "@roomhub/provider";
import { isEventStream, type ResponseMeter } from "../response-meter.ts";

/** What a request generates is billed by these surfaces; the others only count tokens. */
const surfaces = new Map(
  SURFACES.filter(({ path }) => !/token/.test(path)).map((surface) => [
    `/${surface.path}`,
    surface,
  ]),
);

/** As long as the longest match of {@link GENERATED_CONTENT}, so that a match across chunks is found. */
const carriedChars = 64;
/** Where a messages stream reports its input. */
const headBytes = 4_096;
const bytesPerToken = 4;

/**
 * Counts the tokens of one request against a budget: those of the provider's usage, cached ones included. Without usage,
 * and at least when the response was cut off: a quarter of the request's bytes, plus one token for each chunk of a stream
 * that has content, or a quarter of the bytes of another response.
 */
export class TokenMeter {
  /** undefined where a response contains no generated text */
  readonly #content: RegExp | undefined;
  readonly #isMessages: boolean;
  readonly #isBilled: boolean;
  #requestBytes = 0;
  #response: ResponseMeter | undefined;
  #isStream = false;
  #chunks = 0;
  #responseBytes = 0;
  #carried = "";
  #head = "";

  constructor(path: string) {
    const surface = surfaces.get(path);
    this.#isBilled = surface !== undefined;
    this.#isMessages = surface?.protocol === "messages";
    const hasText = surface !== undefined && surface.protocol !== "embeddings";
    // A regular expression with the flag `g` has a position, so each meter has its own.
    this.#content = hasText ? new RegExp(GENERATED_CONTENT[surface.marker].source, "g") : undefined;
  }

  seeRequest(bytes: number): void {
    this.#requestBytes += bytes;
  }

  /** @param meter - keeps the end of the same response, where usage is */
  begin(meter: ResponseMeter | undefined, { headers }: Pick<ResponseHead, "headers">): void {
    this.#response = meter;
    this.#isStream = isEventStream(headers);
  }

  seeResponse(chunk: Buffer): void {
    this.#responseBytes += chunk.length;
    if (this.#content === undefined || !this.#isStream) return;
    const text = chunk.toString("latin1");
    if (this.#isMessages && this.#head.length < headBytes) this.#head += text;
    this.#count(this.#carried + text, this.#content);
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
    // The usage of a stream's beginning says nothing of its end.
    return isWhole ? counted : Math.max(counted, estimatedInput + estimatedOutput);
  }

  #count(text: string, content: RegExp): void {
    let end = 0;
    content.lastIndex = 0;
    while (content.test(text)) {
      this.#chunks++;
      end = content.lastIndex;
    }
    this.#carried = text.slice(Math.max(end, text.length - carriedChars));
  }

  #estimatedOutput(): number {
    if (this.#content === undefined) return 0;
    return this.#isStream ? this.#chunks : Math.ceil(this.#responseBytes / bytesPerToken);
  }

  #usage(): Usage {
    const end = this.#response?.usage() ?? {};
    return this.#isMessages && this.#isStream ? mergeUsage(findUsage(this.#head), end) : end;
  }
}
