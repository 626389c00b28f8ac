import type { Fetch } from "./connection.ts";

/**
 * Options that point common SDKs at a room. None of the SDKs is a dependency: each result is a plain object to pass on,
 * alone or merged with other options.
 */

/** A `RoomClient`, or any object with the room's base URL, `{hub}/rooms/CODE/v1`, and a closed room's key. */
export interface RoomAddress {
  readonly baseURL: string;
  readonly key?: string | undefined;
  readonly fetch?: Fetch | undefined;
}

export interface SDKOptions {
  baseURL: string;
  /** The key of a closed room. Else any text: an open room needs none, but the SDKs require one. */
  apiKey: string;
  /** where the invite has a pin */
  fetch?: typeof fetch;
}

export interface AISDKOptions extends SDKOptions {
  /** The provider name that the AI SDK shows in errors and metadata. */
  name: string;
}

export interface OpenResponsesOptions {
  name: string;
  /** The URL of the operation, not the base URL. */
  url: string;
  apiKey: string;
  fetch?: typeof fetch;
}

/** An open room ignores a client's key, except that one starting with `rhp_` is read as a participant token. */
const keyOf = ({ key = "roomhub" }: RoomAddress) => key;
const providerName = "roomhub";
/** SDKs call it with a URL as text. */
const fetchOf = ({ fetch: send }: RoomAddress) =>
  send === undefined ? {} : { fetch: send as typeof fetch };

/** `new OpenAI(openAIOptions(room))`; LangChain takes the same object as `configuration`. */
export function openAIOptions(room: RoomAddress): SDKOptions {
  return { baseURL: room.baseURL, apiKey: keyOf(room), ...fetchOf(room) };
}

/** `new Anthropic(anthropicOptions(room))`: for participants that serve `/messages`. The SDK appends `/v1` itself. */
export function anthropicOptions(room: RoomAddress): SDKOptions {
  return { baseURL: room.baseURL.replace(/\/v1\/?$/, ""), apiKey: keyOf(room), ...fetchOf(room) };
}

/** `createOpenAICompatible(aiSDKOptions(room))`, and `createOpenAI(aiSDKOptions(room))`. */
export function aiSDKOptions(room: RoomAddress): AISDKOptions {
  return { name: providerName, baseURL: room.baseURL, apiKey: keyOf(room), ...fetchOf(room) };
}

/** `createOpenResponses(openResponsesOptions(room))` of `@ai-sdk/open-responses`. */
export function openResponsesOptions(room: RoomAddress): OpenResponsesOptions {
  return {
    name: providerName,
    url: `${room.baseURL}/responses`,
    apiKey: keyOf(room),
    ...fetchOf(room),
  };
}
