import {
  type ErrorShape,
  isObject,
  parseObject,
  promptTooLong,
  readContextRefusal,
  recognisableRefusal,
} from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { HeaderMap } from "./response-headers.ts";

/** A provider's refusal, as the client may read it. */
export interface ProviderRefusal {
  /** for the event, and for a body in the hub's words */
  error: HubError;
  /** the provider's own code, when it gave one */
  providerCode: string | undefined;
  /** its body, where it has the shape this surface's clients read */
  body: string | undefined;
}

const maxMessageLength = 512;

/**
 * Reads a provider's response of status 400 or more. Contract §6: what concerns the request passes, what concerns the
 * participant becomes an error of the hub.
 * A prompt that is too long is refused in a form that clients recognise.
 *
 * @param text - its body, scrubbed of the participant's secrets
 * @throws HubError `provider_auth_failed` for 401, 403 and 407, `unsupported_protocol` for 501, `provider_error` for any
 * other 5xx but one about the request itself, which is read as 400
 */
export function readRefusal(
  participantId: string,
  status: number,
  text: string,
  shape: ErrorShape,
): ProviderRefusal {
  const { message, code, ...has } = readProviderError(text);
  const context = readContextRefusal(text);
  const own = message ?? `The provider responded ${status} without a readable message.`;
  const inWords =
    context !== undefined && shape === "anthropic" ? promptTooLong(context, own) : own;
  const said = inWords.slice(0, maxMessageLength);
  if (status === 401 || status === 403 || status === 407) {
    throw new HubError(
      "provider_auth_failed",
      `The provider of ${participantId} refused the participant's credentials (${status}).`,
      {
        hint: `On its machine, give ${participantId} a valid key: roomhub join … --header-env Authorization=VAR`,
      },
    );
  }
  if (status === 501) {
    throw new HubError(
      "unsupported_protocol",
      `The provider of ${participantId} does not serve this request (501): ${said}`,
      { stage: "provider", hint: "Use another participant, or * for any that can.", isFinal: true },
    );
  }
  const hasRightShape = shape === "anthropic" ? has.isAnthropicShape : has.isOpenAiShape;
  if (context !== undefined) {
    const isTheirs = status < 500;
    const error = new HubError("context_length_exceeded", said, {
      status: isTheirs ? status : 400,
      isFinal: true,
    });
    // The body of a 5xx says `server_error`.
    const body = hasRightShape && isTheirs ? recognisableRefusal(text, context, shape) : undefined;
    return { error, providerCode: code, body };
  }
  if (isClientMistake(status, said)) {
    const error = new HubError("provider_error", said, { status: 400, isFinal: true });
    // The provider's own body says `server_error`.
    return { error, providerCode: code, body: undefined };
  }
  if (status >= 500) {
    throw new HubError(
      "provider_error",
      `The provider of ${participantId} failed (${status}): ${said}`,
      { status: status === 503 || status === 504 ? status : 502 },
    );
  }
  const error = new HubError("provider_error", said, { status, stage: "provider" });
  return { error, providerCode: code, body: hasRightShape ? text : undefined };
}

/** A provider's own error body, as far as it can be read. */
interface ProviderError {
  message: string | undefined;
  code: string | undefined;
  isOpenAiShape: boolean;
  isAnthropicShape: boolean;
}

/** Of two words at least. */
const plainLine = /^(?=\S+ \S)([^<>{}[\]\r\n]{1,200}?)\s*$/;
const noShape = { isOpenAiShape: false, isAnthropicShape: false };

/** @param text - already scrubbed of the participant's secrets */
export function readProviderError(text: string): ProviderError {
  // A page has no message: the hub has words of its own. whisper.cpp's are a line of plain text.
  const { type, error, message } = parseObject(text) ?? { message: plainLine.exec(text)?.[1] };
  if (typeof error === "string") return { message: error, code: undefined, ...noShape };
  if (isObject(error)) {
    const isError = typeof error["message"] === "string";
    return {
      message: textOf(error["message"]),
      code: textOf(error["code"]) || undefined,
      isOpenAiShape: isError,
      isAnthropicShape: isError && type === "error" && typeof error["type"] === "string",
    };
  }
  return { message: textOf(message), code: undefined, ...noShape };
}

/** Each text names a fault of the request, and none appears in the errors of a failing server. */
const mistakes: readonly RegExp[] = [
  // nlohmann's parser, on a body or a field of it
  /\[json\.exception\./,
  /\bfailed to parse (?:tools|messages|tool_choice|json_schema)\b/i,
  /\b(?:image|audio|video) input is not supported\b/i,
  /\bdoes not support (?:multimodal|image|audio|video)\b/i,
  /\brequired for image input\b/i,
  /^(?:Error: )?["'][\w.[\]]+["'] (?:is required|must |elements must )/,
  /^(?:Unsupported param|Only no echo|Cannot use both|Invalid base64|Failed to (?:download|load) image)\b/,
  /\bparam requires --jinja\b/,
  // a chat template that refuses the order of roles, say
  /\bJinja Exception\b/i,
];

/**
 * Whether a provider's 500 is about the request itself, which would fail again. llama.cpp and Ollama respond 500
 * to an image without a projector, to malformed tools, to fields of the wrong type.
 *
 * @param message - what the provider's error says
 */
export function isClientMistake(status: number, message: string): boolean {
  return status === 500 && mistakes.some((mistake) => mistake.test(message));
}

/** A day of 25 hours, when clocks are set back: the longest rest that an agent can ask for. */
const longestRestMs = 25 * 60 * 60_000;
/** the rest for a used-up budget when the agent names none */
export const defaultRestMs = 60_000;

/** How long `retry-after` says, at most 25 h. @param otherwiseMs - when it does not */
export function retryAfterOf(headers: HeaderMap, otherwiseMs: number): number {
  const text = headers["retry-after"] ?? "";
  if (!/^\d{1,9}$/.test(text)) return otherwiseMs;
  return Math.min(longestRestMs, Number(text) * 1_000);
}

/** @param text - the body of the agent's refusal, scrubbed of the participant's secrets */
export function budgetRefusal(participantId: string, text: string, retryAfterMs: number): HubError {
  const { message = `The budget of ${participantId} is used up.` } = readProviderError(text);
  return new HubError("budget_exhausted", message.slice(0, maxMessageLength), {
    retryAfterMs,
    stage: "provider",
    hint: "Use another participant, or * for any that is ready.",
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
