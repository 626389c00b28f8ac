import { mostBytesPerToken } from "../../domain/needs/demand.ts";
import { featureBits, readRequired, requirableWords } from "../../domain/needs/abilities.ts";
import { HubError } from "../../errors.ts";
import type { JsonMember } from "../json/json-scan.ts";
import { countText } from "../json/least-text.ts";
import type { RequestBody } from "./request-body.ts";

/** Its tokens at least. Contract §3, "What a request needs". */
export function leastTokensOf({ chunks, prompt }: Pick<RequestBody, "chunks" | "prompt">): number {
  if (prompt === undefined) return 0;
  return Math.floor(countText(chunks, prompt.start, prompt.end) / mostBytesPerToken);
}

/** Members in which a schema for the output stands: of chat, Responses and Messages. */
export const schemaFields = ["response_format", "text", "output_config", "output_format"];
const outputFields = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/** `[]` and `null` are no tools. */
const longestNothing = 8;
const schemaWord = '"json_schema"';

/** The features that a request uses, as bits. */
export function usesOf(chunks: readonly Buffer[], members: readonly JsonMember[]): number {
  let uses = 0;
  for (const { key, start, end } of members) {
    if (key === "tools" && end - start > longestNothing) uses |= featureBits.tools;
    const isSchema = schemaFields.includes(key) && bytesOf(chunks, start, end).includes(schemaWord);
    if (isSchema) uses |= featureBits.structuredOutput;
  }
  return uses;
}

/** The tokens that a request wants generated; 0 where it does not say. */
export function outputTokensOf(chunks: readonly Buffer[], members: readonly JsonMember[]): number {
  const member = members.findLast(({ key }) => outputFields.includes(key));
  if (member === undefined || member.end - member.start > longestNumber) return 0;
  const tokens = Number(bytesOf(chunks, member.start, member.end).toString("latin1"));
  return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;
}

const longestNumber = 16;

/** A part of the body, copied only where it stands in several chunks. */
function bytesOf(chunks: readonly Buffer[], start: number, end: number): Buffer {
  const parts: Buffer[] = [];
  let position = 0;
  for (const chunk of chunks) {
    const from = Math.max(0, start - position);
    const to = Math.min(chunk.length, end - position);
    if (from < to) parts.push(chunk.subarray(from, to));
    position += chunk.length;
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

/**
 * The features that a client requires, as bits.
 *
 * @param header - `x-roomhub-require`
 * @throws HubError `bad_request`
 */
export function requiresOf(header: string | readonly string[] | undefined): number {
  if (header === undefined) return 0;
  const read = readRequired(typeof header === "string" ? header : header.join(","));
  if ("bits" in read) return read.bits;
  throw new HubError(
    "bad_request",
    `x-roomhub-require has an unknown word: ${JSON.stringify(read.unknownWord.slice(0, 40))}.`,
    { hint: `Use words of ${requirableWords.join(", ")}, separated by commas.` },
  );
}

/**
 * Whether a request is one of a batch: as its header says, else by its body. Contract §3, "Batches".
 *
 * @param header - `x-roomhub-priority`
 * @throws HubError `bad_request`
 */
export function isOfBatch(
  header: string | readonly string[] | undefined,
  { isFlex }: Pick<RequestBody, "isFlex">,
): boolean {
  if (header === undefined) return isFlex;
  if (header === "batch" || header === "interactive") return header === "batch";
  throw new HubError(
    "bad_request",
    `x-roomhub-priority has an unknown value: ${JSON.stringify(String(header).slice(0, 40))}.`,
    { hint: "Use batch or interactive." },
  );
}
