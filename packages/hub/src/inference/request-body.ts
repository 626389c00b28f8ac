import type { JsonMember } from "./json-scan.ts";

/** A request's body as it came, and what the hub reads of it. */
export interface RequestBody {
  /** the client's own bytes, in the cuts they came in */
  chunks: readonly Buffer[];
  length: number;
  /** the `model` field: a selector. Interface §4 */
  model: string;
  isStream: boolean;
  /** the answer this request goes on from, by its id; null and "" are none */
  previousResponseId: string | undefined;
  /** false when the client asked that the answer be kept by nobody */
  isStored: boolean;
  /** members of the outermost object that the hub may have to touch */
  members: readonly JsonMember[];
  /** offset behind the outermost `{` */
  bodyStart: number;
}
