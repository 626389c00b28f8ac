import type {
  ErrorCode,
  ErrorShape,
  InferenceProtocol,
  StreamMarker,
  Surface,
} from "@roomhub/protocol";
import { capabilityOf, type Participant } from "../../domain/participant.ts";
import { noPrompt, type Prompt } from "../../domain/placement/warm-conversations.ts";
import { HubError } from "../../errors.ts";
import { leastTokensOf } from "./needs.ts";
import { bodyForProvider } from "./provider-body.ts";
import { giveBackBody, type RequestBody } from "./request-body.ts";
import type { Upload } from "./upload.ts";
import type { RequestForProvider } from "../upstream.ts";

/** What a client requests, whichever participant serves it. */
export type InferenceRequest = ModelRequest | StoredResponseRequest;

/** Whether a participant's provider can be asked for the usage of a stream, as far as is known. */
function takesUsageRequest(participant: Participant): boolean {
  return (
    capabilityOf(participant, "streamUsage") === "supported" &&
    capabilityOf(participant, "implicitUsage") !== "supported" &&
    !participant.learned.refusesStreamUsage &&
    !participant.learned.reportsUsageItself
  );
}

export interface ModelRequestOptions {
  surface: Surface;
  body: RequestBody;
  /** what the provider may see of the client's headers */
  headers: Record<string, string>;
  /** keyed hash of the session that the client names */
  session: string | undefined;
  /** the features that the client requires, as bits */
  requires: number;
  isBatch: boolean;
  /** This hub requests usage where it can. Contract §5 */
  requestsStreamUsage: boolean;
}

/** A request to a model: one of the surfaces, with a body that names whom it is for. */
export class ModelRequest {
  /** It generates something, so that it has llm events and is listed while it runs. Contract §4, "stored responses". */
  readonly hasEvents = true;
  /** the client's own words for whom it wants. Interface §4 */
  readonly selector: string;
  /** of a response that is a stream; `none` when it cannot be one */
  readonly marker: StreamMarker;
  /** The response is a stream for certain, so that it may begin before the provider responds. */
  readonly beginsAsStream: boolean;
  /** The response is stored under an id that a client may use later. */
  readonly makesResponse: boolean;
  /** where its prompt may be warm */
  readonly prompt: Prompt;
  /** how much of its prompt is text */
  readonly textBytes: number;
  /** its `max_tokens`; 0 for none */
  readonly outputTokens: number;
  /** features that it uses or its sender requires, as bits */
  readonly uses: number;
  readonly requires: number;
  /** Others come before it. Contract §3, "Batches". */
  readonly isBatch: boolean;
  readonly surface: Surface;
  /** Id of the response that the request continues. */
  readonly previousResponseId: string | undefined;
  /** its body, when it began while that was still arriving */
  readonly upload: Upload | undefined;
  readonly #requestsStreamUsage: boolean;
  #leastTokens: number | undefined;
  #request: { body: RequestBody; headers: Record<string, string> } | undefined;

  constructor(options: ModelRequestOptions) {
    const { surface, body, headers, session, requires, requestsStreamUsage } = options;
    this.selector = body.model;
    this.marker = body.isStream || surface.isRare ? surface.marker : "none";
    this.beginsAsStream = this.marker !== "none" && !surface.isRare;
    this.makesResponse = surface.path === "responses" && body.isStored;
    // A text to be spoken or painted is no prompt: nothing of it stays in a cache, or counts for a context.
    const prompt = surface.isRare
      ? { borders: [], promptBytes: body.length, textBytes: 0, uses: 0 }
      : { ...body, borders: body.promptBorders };
    this.prompt = { session, borders: prompt.borders, bytes: prompt.promptBytes };
    this.textBytes = prompt.textBytes;
    this.outputTokens = body.outputTokens;
    this.uses = prompt.uses;
    this.requires = requires;
    this.isBatch = options.isBatch;
    this.surface = surface;
    const canContinue = surface.protocol === "openResponses";
    this.previousResponseId = canContinue ? body.previousResponseId : undefined;
    this.upload = body.upload;
    this.#requestsStreamUsage = requestsStreamUsage;
    this.#request = { body, headers };
  }

  get protocol(): InferenceProtocol {
    return this.surface.protocol;
  }

  /** What a participant must be able to do, as its capabilities name it. */
  get capability(): string {
    return this.surface.capability;
  }

  get errorShape(): ErrorShape {
    return this.surface.errorShape;
  }

  /** Requests with the same key can be served by the same participants. */
  get selectionKey(): string {
    return `${this.capability} ${this.selector}`;
  }

  /** How many tokens its prompt has at least. 0 after {@link forget}, unless it was called before. */
  leastTokens(): number {
    this.#leastTokens ??=
      this.textBytes === 0 ? 0 : this.#request && leastTokensOf(this.#request.body);
    return this.#leastTokens ?? 0;
  }

  /**
   * The one participant that can serve it, whatever the selector says; undefined when any participant may.
   *
   * @throws HubError `previous_response_not_found`
   */
  pinnedTo(ownerOf: (responseId: string) => Participant | undefined): Participant | undefined {
    const { previousResponseId } = this;
    if (previousResponseId === undefined) return undefined;
    const owner = ownerOf(previousResponseId);
    if (owner === undefined) throw noPrevious(previousResponseId, "is not known in this room");
    // Some providers ignore the field, and the model would answer without the conversation.
    if (capabilityOf(owner, "storedResponses") === "unsupported") {
      throw noPrevious(previousResponseId, `was not kept by the provider of ${owner.id}`);
    }
    return owner;
  }

  /** The client's error when the one participant cannot be used. */
  refusalOf(pinned: Participant, reason: HubError): HubError {
    const { code } = reason;
    if (asItIs.has(code)) return reason;
    const id = this.previousResponseId ?? "";
    return noPrevious(id, `is with ${pinned.id}, which cannot serve it now: ${reason.message}`);
  }

  /** Its body as the client sent it. Not after {@link forget}. */
  get chunks(): readonly Buffer[] {
    return this.#whole.body.chunks;
  }

  /** Whether the provider is asked for the usage of its stream, which the client then does not get. */
  mayRequestUsageOf(participant: Participant): boolean {
    return (
      this.#requestsStreamUsage &&
      this.surface.path === "chat/completions" &&
      this.marker !== "none" &&
      takesUsageRequest(participant) &&
      // A client with `stream_options` of its own gets what it requests there.
      !this.#whole.body.members.some(({ key }) => key === "stream_options")
    );
  }

  /**
   * No further attempt follows: the request's body can be released.
   *
   * @param isBodyTaken - its buffers are no longer read either
   */
  forget(isBodyTaken: boolean): void {
    if (isBodyTaken && this.#request !== undefined) giveBackBody(this.#request.body);
    this.#request = undefined;
    this.upload?.forget();
  }

  get #whole(): { body: RequestBody; headers: Record<string, string> } {
    if (this.#request === undefined)
      throw new Error("dispatched again after its body was released");
    return this.#request;
  }

  /**
   * Not after {@link forget}.
   *
   * @param hops - the hubs this request has passed, the own one included
   */
  requestFor(
    participant: Participant,
    hops: readonly string[],
    requestsUsage: boolean,
  ): RequestForProvider {
    const { body, headers } = this.#whole;
    const surface = this.surface;
    const { model, config } = participant;
    const sent = bodyForProvider(body, surface, { model, config, requestsUsage });
    return {
      method: "POST",
      path: `/${surface.path}`,
      headers: { ...headers, "x-roomhub-hop": hops.join(",") },
      protocol: surface.protocol,
      isStream: this.beginsAsStream,
      body: sent,
      bodyBytes: this.upload?.bytesAs(sent),
    };
  }
}

export interface StoredResponseOptions {
  method: "GET" | "DELETE" | "POST";
  /** below the base URL, with a leading slash and the query */
  path: string;
  isStream: boolean;
  /** who made the response */
  maker: Participant;
  headers: Record<string, string>;
}

/** A request about a response that was made before. Contract §4, "stored responses". */
export class StoredResponseRequest {
  readonly surface = undefined;
  readonly hasEvents = false;
  readonly protocol = "openResponses";
  readonly capability = "openResponses";
  readonly errorShape = "openai";
  readonly previousResponseId = undefined;
  readonly makesResponse = false;
  readonly upload = undefined;
  readonly chunks = [];
  readonly prompt = noPrompt;
  readonly textBytes = 0;
  readonly outputTokens = 0;
  readonly uses = 0;
  readonly requires = 0;
  readonly isBatch = false;
  readonly marker: StreamMarker;
  readonly beginsAsStream: boolean;
  readonly selector: string;
  readonly selectionKey: string;
  readonly #options: StoredResponseOptions;

  constructor(options: StoredResponseOptions) {
    this.marker = options.isStream ? "responses" : "none";
    this.beginsAsStream = options.isStream;
    this.selector = options.maker.id;
    this.selectionKey = `${this.protocol} ${this.selector}`;
    this.#options = options;
  }

  leastTokens(): number {
    return 0;
  }

  pinnedTo(): Participant {
    return this.#options.maker;
  }

  refusalOf(_pinned: Participant, reason: HubError): HubError {
    return reason;
  }

  mayRequestUsageOf(): boolean {
    return false;
  }

  forget(): void {}

  requestFor(_participant: Participant, hops: readonly string[]): RequestForProvider {
    const { method, path, headers, isStream } = this.#options;
    const { protocol } = this;
    return {
      ...{ method, path, protocol, isStream, body: [] },
      headers: { ...headers, "x-roomhub-hop": hops.join(",") },
    };
  }
}

/** Refusals of a pinned request that say more than that its response is elsewhere. */
const asItIs = new Set<ErrorCode>(["unsupported_protocol", "budget_exhausted", "not_allowed"]);

function noPrevious(responseId: string, why: string): HubError {
  const shown = JSON.stringify(responseId.slice(0, 100));
  return new HubError("previous_response_not_found", `The previous response ${shown} ${why}.`, {
    param: "previous_response_id",
    hint: "Send the whole conversation in input, without previous_response_id.",
  });
}
