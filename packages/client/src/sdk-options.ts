/**
 * What the usual SDKs want to be told, so that they talk to a room. None of them is a dependency: each of these is a
 * plain object to hand over, as it is or with more fields beside it.
 */

/** Where a room is: a `RoomClient`, or its base URL from anywhere else, `{hub}/rooms/CODE/v1`. */
export interface RoomAddress {
  readonly baseURL: string;
}

export interface SDKOptions {
  baseURL: string;
  /** Any text: a room asks for none, but the SDKs insist on one. */
  apiKey: string;
}

export interface AISDKOptions extends SDKOptions {
  /** The provider's name, as the AI SDK shows it in errors and metadata. */
  name: string;
}

export interface OpenResponsesOptions {
  name: string;
  /** The operation itself, not the base. */
  url: string;
  apiKey: string;
}

/** The hub reads no client's key and hands none on; one that begins with `rhp_` it would take for a participant's token. */
const anyKey = "roomhub";
const providerName = "roomhub";

/** `new OpenAI(openAIOptions(room))`; LangChain takes the same as its `configuration`. */
export function openAIOptions(room: RoomAddress): SDKOptions {
  return { baseURL: room.baseURL, apiKey: anyKey };
}

/** `new Anthropic(anthropicOptions(room))`: for participants that serve `/messages`. That SDK adds `/v1` by itself. */
export function anthropicOptions(room: RoomAddress): SDKOptions {
  return { baseURL: room.baseURL.replace(/\/v1\/?$/, ""), apiKey: anyKey };
}

/** `createOpenAICompatible(aiSDKOptions(room))`, and `createOpenAI(aiSDKOptions(room))`. */
export function aiSDKOptions(room: RoomAddress): AISDKOptions {
  return { name: providerName, baseURL: room.baseURL, apiKey: anyKey };
}

/** `createOpenResponses(openResponsesOptions(room))` of `@ai-sdk/open-responses`. */
export function openResponsesOptions(room: RoomAddress): OpenResponsesOptions {
  return { name: providerName, url: `${room.baseURL}/responses`, apiKey: anyKey };
}
