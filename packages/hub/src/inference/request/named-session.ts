import { isObject, parseObject, SESSION_HEADERS } from "@roomhub/protocol";
import { type JsonMember, valueOf } from "../json/json-scan.ts";

/** Longer values are no session's name. Contract §3, "Conversations". */
const maxSessionBytes = 256;

/**
 * The session that a client names: by a header, by `prompt_cache_key`, or in `metadata.user_id`, the first of them that
 * there is. Contract §3, "Conversations".
 */
export function namedSession(
  headers: Readonly<Record<string, string | undefined>>,
  {
    cacheKey,
    sessionInMetadata,
  }: { cacheKey: string | undefined; sessionInMetadata: string | undefined },
): string | undefined {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (isSession(value)) return value;
  }
  if (isSession(cacheKey)) return cacheKey;
  return isSession(sessionInMetadata) ? sessionInMetadata : undefined;
}

/** Claude Code's `metadata.user_id`: JSON with a `session_id`, or a text that ends in `_session_<uuid>`. */
export function sessionIn(metadata: JsonMember | undefined): string | undefined {
  const value = metadata === undefined ? undefined : valueOf(metadata);
  const userId = isObject(value) ? value["user_id"] : undefined;
  if (typeof userId !== "string") return undefined;
  const ending = /_session_([0-9a-fA-F-]{36})$/.exec(userId)?.[1];
  if (ending !== undefined) return ending;
  const session = parseObject(userId)?.["session_id"];
  return typeof session === "string" ? session : undefined;
}

function isSession(value: string | undefined): value is string {
  return value !== undefined && value !== "" && Buffer.byteLength(value) <= maxSessionBytes;
}
