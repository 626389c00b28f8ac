import { isEventStream, type Surface } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { ResponseHead } from "../upstream.ts";

/** The kind of response that a provider's status and headers announce. */
export type ResponseKind = "stream" | "json" | "plain" | "refusal";

/** What a surface's response may be. */
interface Expected {
  isStream: boolean;
  content: Surface["content"];
}

/** Types of responses that are passed as they are. */
const plain: Record<NonNullable<Surface["content"]>, RegExp> = {
  audio: /^(?:audio|video)\/|^application\/(?:octet-stream|ogg)\b/i,
  // whisper.cpp calls plain text HTML.
  text: /^text\/(?:plain|html|vtt|srt)\b|^application\/(?:x-)?subrip\b/i,
};

const json = /^application\/(?:[\w.+-]+\+)?json\b/i;

/**
 * Whether a provider's response may be relayed, and how. Contract §6: garbage, redirects, bad status and wrong content
 * types are `provider_invalid_response`; the status text never travels.
 *
 * @throws HubError
 */
export function judgeHead(
  head: ResponseHead,
  participantId: string,
  { isStream, content }: Expected,
): ResponseKind {
  const { status } = head;
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw invalid(
      participantId,
      `responded with the invalid status ${String(status).slice(0, 10)}`,
    );
  }
  if (status >= 400) return "refusal";
  if (status >= 300)
    throw invalid(participantId, `responded with a redirect (${status}), which is not followed`);
  if (status === 204 || status === 205)
    throw invalid(participantId, `responded ${status} without a body`);
  const type = head.headers["content-type"];
  const isPlain = content !== undefined && (type === undefined || plain[content].test(type));
  if (isPlain) return "plain";
  if (type === undefined) return isStream ? "stream" : "json";
  if (json.test(type)) return "json";
  if (isStream && isEventStream(head.headers)) return "stream";
  throw invalid(participantId, `responded with content type ${JSON.stringify(type.slice(0, 60))}`);
}

function invalid(participantId: string, what: string): HubError {
  return new HubError("provider_invalid_response", `The provider of ${participantId} ${what}.`, {
    hint: "On its machine, check the model server: roomhub doctor --endpoint URL",
  });
}
