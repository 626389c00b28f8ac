import { giveBack } from "@roomhub/protocol";
import type { PromptBorder } from "../../domain/placement/warm-conversations.ts";
import type { JsonMember } from "../json/json-scan.ts";
import type { Upload } from "./upload.ts";

/** A request's body as it came, and what the hub reads of it. */
export interface RequestBody {
  /** the client's own bytes, in the cuts they came in */
  chunks: readonly Buffer[];
  length: number;
  /** Only this request reads the chunks: their memory may be released after it. */
  hasOnlyReader: boolean;
  /** It is `multipart/form-data`, not JSON. */
  isForm: boolean;
  /** what is still to come of it */
  upload?: Upload | undefined;
  /** the `model` field: a selector. Interface §4 */
  model: string;
  isStream: boolean;
  /** id of the response that this request continues; null and "" are none */
  previousResponseId: string | undefined;
  /** false when the client wants the response not to be stored */
  isStored: boolean;
  /** what the request is about: `messages`, `input` or `prompt` */
  promptBytes: number;
  /** of these, without `data:` URLs and base64, whose bytes say nothing about tokens */
  textBytes: number;
  /** where the prompt stands */
  prompt: Pick<JsonMember, "start" | "end"> | undefined;
  /** `max_tokens` by any of its names; 0 for none */
  outputTokens: number;
  /** the features that it uses, as bits: `tools`, and a JSON schema for the output */
  uses: number;
  promptBorders: readonly PromptBorder[];
  /** Its `service_tier` is `flex`: the client prefers a low price to a short wait. */
  isFlex: boolean;
  /** what the client names its conversation by in the body: `prompt_cache_key`, or the session in `metadata.user_id` */
  cacheKey: string | undefined;
  sessionInMetadata: string | undefined;
  /** the person that the client names in the body: `safety_identifier`, else `user` */
  user: string | undefined;
  /** members of the outermost object that the hub may have to touch */
  members: readonly JsonMember[];
  /** offset behind the outermost `{` */
  bodyStart: number;
}

/** Shorter ones cost more to give back than to collect. */
const minGivenBackBytes = 64 * 1024;

/**
 * Gives the memory of a long body back at once. It is outside V8's heap, and V8 collects everything, with all that is held
 * up meanwhile, whenever 64 MB of such memory have come together.
 *
 * @param body - that its request reads no more
 */
export function giveBackBody({ chunks, length, hasOnlyReader }: RequestBody): void {
  if (hasOnlyReader && length >= minGivenBackBytes) chunks.forEach(giveBack);
}
