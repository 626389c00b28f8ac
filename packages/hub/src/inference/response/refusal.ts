import { type ErrorShape, isObject, parseObject } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import { isClientMistake } from "./client-mistake.ts";

/** A provider's refusal, as the client may read it. */
export interface ProviderRefusal {
  /** for the event, and for a body in the hub's words */
  error: HubError;
  /** the provider's own code, when it gave one */
  providerCode: string | undefined;
  /** Its body has the shape this surface's clients read, and may pass as it is. */
  hasRightShape: boolean;
}

const maxMessageLength = 512;

/**
 * Reads a provider's response of status 400 or more. Contract §6: what concerns the request passes, what concerns the
 * participant becomes an error of the hub.
 *
 * @param text - its body, scrubbed of the participant's secrets
 * @throws HubError `provider_auth_failed` for 401, 403 and 407, `unsupported_protocol` for 501, `provider_error` for any
 * other 5xx but a 500 about the request itself, which is read as 400
 */
export function readRefusal(
  participantId: string,
  status: number,
  text: string,
  shape: ErrorShape,
): ProviderRefusal {
  const { message, code, ...has } = readProviderError(text);
  const said = (message ?? `The provider responded ${status} without a readable message.`).slice(
    0,
    maxMessageLength,
  );
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
  if (isClientMistake(status, said)) {
    const error = new HubError("provider_error", said, { status: 400, isFinal: true });
    // The provider's own body says `server_error`.
    return { error, providerCode: code, hasRightShape: false };
  }
  if (status >= 500) {
    throw new HubError(
      "provider_error",
      `The provider of ${participantId} failed (${status}): ${said}`,
      { status: status === 503 || status === 504 ? status : 502 },
    );
  }
  const error = new HubError("provider_error", said, { status, stage: "provider" });
  const hasRightShape = shape === "anthropic" ? has.isAnthropicShape : has.isOpenAiShape;
  return { error, providerCode: code, hasRightShape };
}

/** A provider's own error body, as far as it can be read. */
interface ProviderError {
  message: string | undefined;
  code: string | undefined;
  isOpenAiShape: boolean;
  isAnthropicShape: boolean;
}

const noShape = { isOpenAiShape: false, isAnthropicShape: false };

/** @param text - already scrubbed of the participant's secrets */
export function readProviderError(text: string): ProviderError {
  // HTML or nothing has no fields: the hub has words of its own.
  const { type, error, message } = parseObject(text) ?? {};
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

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
