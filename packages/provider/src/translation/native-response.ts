import { isEventStream } from "@roomhub/protocol";
import type { ResponseHead, ProviderSink } from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import { HeldResponse, isSuccess } from "../call/held-response.ts";
import type { PacedSink } from "../call/paced-sink.ts";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import type { TranslatedSurface } from "./surface-translation.ts";
import { judgeResponse } from "../learn/surface-verdict.ts";

/** What is known of a server's surface, and learned from its responses. */
export type SurfaceKnowledge = Pick<ServerKnowledge, "note" | "noteResponse" | "way">;

/**
 * The response of a server that may not have the surface. Held back while it may still say so: then nothing was generated,
 * and the same request is sent as chat.
 */
export class NativeResponse implements ProviderResponse {
  readonly #clientResponse: PacedSink;
  readonly #knowledge: SurfaceKnowledge;
  readonly #surface: TranslatedSurface;
  #held: HeldResponse | undefined;
  #isChatNext = false;

  constructor(clientResponse: PacedSink, knowledge: SurfaceKnowledge, surface: TranslatedSurface) {
    this.#clientResponse = clientResponse;
    this.#knowledge = knowledge;
    this.#surface = surface;
  }

  get isChatNext(): boolean {
    return this.#isChatNext;
  }

  onHead(head: ResponseHead): void {
    if (mayDenyThePath(head)) {
      this.#held = new HeldResponse(head);
      return;
    }
    if (isSuccess(head.status)) this.#knowledge.note(this.#surface, "supported");
    this.#clientResponse.head(head);
  }

  onData(chunk: Buffer): boolean {
    if (this.#held === undefined) return this.#clientResponse.data(chunk);
    return this.#held.push(chunk) || this.#release(this.#held, "");
  }

  onEnd(): void {
    if (this.#held !== undefined) {
      const text = this.#held.text();
      const { status } = this.#held.head;
      if (judgeResponse(status, text) === "unsupported") {
        this.#knowledge.noteResponse(this.#surface, status, text);
        this.#isChatNext = this.#knowledge.way(this.#surface) !== "native";
        if (this.#isChatNext) return;
      }
      this.#release(this.#held, text);
    }
    this.#clientResponse.end();
  }

  onFailure(failure: ProviderFailure): void {
    this.#clientResponse.fail(failure);
  }

  #release(held: HeldResponse, text: string): boolean {
    this.#held = undefined;
    this.#knowledge.noteResponse(this.#surface, held.head.status, text);
    return held.release(this.#clientResponse);
  }
}

/** LM Studio responds 200 in JSON to unknown paths. */
function mayDenyThePath(head: ResponseHead): boolean {
  const { status } = head;
  if (isSuccess(status)) return !isEventStream(head.headers);
  return status === 501 || (status >= 400 && status < 500);
}

/** The provider's response to one of the requests that serve a call. */
export interface ProviderResponse extends Pick<
  ProviderSink,
  "onHead" | "onData" | "onEnd" | "onFailure"
> {
  /** Nothing was passed on: the request is sent as chat once the socket is closed. */
  readonly isChatNext: boolean;
}
