import {
  findUsage,
  mergeUsage,
  type Surface,
  SURFACES,
  tokenCost,
  type Usage,
  isEventStream,
} from "@roomhub/protocol";
import type { ResponseHead } from "@roomhub/provider";
import type { ResponseMeter } from "../response-meter.ts";

const surfaces = new Map(SURFACES.map((surface) => [`/${surface.path}`, surface]));

/** Where a messages stream reports its input. */
const headBytes = 4_096;

/** Counts the tokens of one request against a budget, see {@link tokenCost}. */
export class TokenMeter {
  readonly #surface: Surface | undefined;
  readonly #isMessages: boolean;
  #requestBytes = 0;
  #response: ResponseMeter | undefined;
  #isStream = false;
  #responseBytes = 0;
  #head = "";

  constructor(path: string) {
    this.#surface = surfaces.get(path);
    this.#isMessages = this.#surface?.protocol === "messages";
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
    if (this.#surface === undefined) return 0;
    return tokenCost(this.#surface, {
      requestBytes: this.#requestBytes,
      usage: this.#usage(),
      contentEvents: this.#isStream ? (this.#response?.contentEvents ?? 0) : undefined,
      responseBytes: this.#responseBytes,
      isWhole,
    });
  }

  #usage(): Usage {
    const end = this.#response?.usage() ?? {};
    return this.#isMessages && this.#isStream ? mergeUsage(findUsage(this.#head), end) : end;
  }
}
