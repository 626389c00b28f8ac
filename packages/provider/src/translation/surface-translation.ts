import type { AcceptedReasoning, ChatMessage } from "./chat/chat-message.ts";
import type { ChatChoice } from "./chat/chat-choice.ts";
import type { ChatStream } from "./chat/chat-stream.ts";
import type { ServerProgram } from "../learn/fingerprints.ts";
import type { UntranslatableError } from "./placed-object.ts";

/** A surface that chat can serve, by the name of its capability. */
export type TranslatedSurface = "openResponses" | "messages";

/** How requests of one surface become chat requests, and chat responses become responses of that surface. */
export interface SurfaceTranslation {
  readonly surface: TranslatedSurface;
  /**
   * Whether chat serves a request better than the server's own surface.
   *
   * @param body - undefined: whether that may be so of some request
   */
  prefersChat?(server: ServerFacts, body: readonly Buffer[] | undefined): boolean;
  /**
   * @param body - with the provider's own model name in it
   * @throws UntranslatableError, and nothing else
   */
  translate(body: Buffer, server: ServerFacts): ServableRequest;
  /** The body of a refusal, in the shape that the surface's clients read. */
  refusal(refusal: RequestRefusal): object;
}

/** What a translation depends on besides the request. */
export interface ServerFacts {
  /** undefined for what is not recognised */
  program: ServerProgram | undefined;
}

/** A request of another surface as a chat request. */
export interface ChatRequest {
  /** the body for `POST {base}/chat/completions`; its dialect depends on the server */
  chat: Record<string, unknown> & { messages: readonly ChatMessage[] };
  /** the provider's model name, for the response before the provider says its own */
  model: string;
  isStream: boolean;
}

/** A chat request, and how its response is translated. */
export interface ServableRequest extends ChatRequest {
  /** members of `chat` that are left out when a refusal matches */
  optionalFields: readonly { name: string; refusal: RegExp }[];
  /** how reasoning is sent back until it is known what the server accepts */
  reasoningAtFirst: AcceptedReasoning;
  stream(source: TranslationSource): ChatStream;
  /** @throws NotChatError for a completion that has no response of this surface */
  response(completion: ChatChoice, source: TranslationSource): Buffer;
  /** The same as a whole stream, for a server that does not stream; without it the client gets the response. */
  streamed?: ServableRequest["response"];
}

/** A request that was refused before the provider got it. */
export interface RequestRefusal {
  status: 400 | 413;
  message: string;
  /** path of the field that cannot be translated; empty when it is not about a field */
  param: string;
  code: UntranslatableError["code"] | "request_too_large";
}

/** Where new ids and the time come from. */
export interface TranslationSource {
  /** @param prefix - `resp`, `msg`, `rs`, `fc`, `ctc`, `toolu`; @returns prefix, underscore, random hex */
  newId(prefix: string): string;
  nowSeconds(): number;
}
