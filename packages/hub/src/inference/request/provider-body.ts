import type { ParticipantConfig, Surface } from "@roomhub/protocol";
import type { JsonMember } from "../json/json-scan.ts";
import type { RequestBody } from "./request-body.ts";

/** Names under which a request may already say what a participant's default would say. Contract §1. */
const sameSetting: Record<string, readonly string[]> = {
  max_tokens: ["max_tokens", "max_completion_tokens", "max_output_tokens"],
};

interface DefaultField {
  /** of the participant's config */
  setting: string;
  name: string;
  /** the request's field wants a list where the config may have a single text */
  isList?: true;
}

const sampling: readonly DefaultField[] = [
  { setting: "temperature", name: "temperature" },
  { setting: "top_p", name: "top_p" },
];
const chatFields: readonly DefaultField[] = [
  ...sampling,
  { setting: "max_tokens", name: "max_tokens" },
  { setting: "stop", name: "stop" },
  { setting: "frequency_penalty", name: "frequency_penalty" },
  { setting: "presence_penalty", name: "presence_penalty" },
  { setting: "seed", name: "seed" },
];

/**
 * Which default goes to which surface, and under which name. Contract §1: only where the protocol has the field, and only
 * where something is generated.
 */
const defaultFields: Readonly<Record<string, readonly DefaultField[]>> = {
  "chat/completions": chatFields,
  completions: chatFields,
  responses: [
    ...sampling,
    { setting: "max_tokens", name: "max_output_tokens" },
    { setting: "instructions", name: "instructions" },
  ],
  messages: [
    ...sampling,
    { setting: "max_tokens", name: "max_tokens" },
    { setting: "stop", name: "stop_sequences", isList: true },
    { setting: "instructions", name: "system" },
  ],
};

/** Members of a request that decide which defaults are put in; only their presence counts. */
export const settingFields: readonly string[] = [
  ...new Set([
    ...Object.values(defaultFields).flatMap((fields) => fields.map(({ name }) => name)),
    ...Object.values(sameSetting).flat(),
  ]),
];

const usageQuestion = '"stream_options":{"include_usage":true},';

/** A body and where it has what may be replaced; a member without `raw` is replaced in any case. */
interface SplicedBody extends Pick<RequestBody, "chunks" | "bodyStart" | "isForm"> {
  members: readonly (Pick<JsonMember, "key" | "start" | "end"> &
    Partial<Pick<JsonMember, "raw">>)[];
}

/** What a provider gets in place of, or in front of, what the client wrote. */
export interface ProviderBodyOptions {
  /** the provider's own model name */
  model: string;
  config: ParticipantConfig;
  /** ask for the usage of a stream; the request itself must not have `stream_options` */
  requestsUsage: boolean;
}

/**
 * The body as the participant's provider gets it: every top-level `model` replaced by the provider's own name, the
 * participant's defaults and the question for usage put in front, all other bytes untouched. Contract §3.
 */
export function bodyForProvider(
  body: SplicedBody,
  surface: Pick<Surface, "path">,
  { model, config, requestsUsage }: ProviderBodyOptions,
): Buffer[] {
  const edits: Edit[] = [];
  // The object is never empty: it has a model. So a comma always follows.
  const front = defaultsText(body, surface, config) + (requestsUsage ? usageQuestion : "");
  if (front !== "") {
    edits.push({ start: body.bodyStart, end: body.bodyStart, text: Buffer.from(front) });
  }
  const name = body.isForm ? model : JSON.stringify(model);
  for (const member of body.members) {
    if (member.key !== "model" || (member.raw === name && isAscii(name))) continue;
    edits.push({ start: member.start, end: member.end, text: Buffer.from(name) });
  }
  return splice(body.chunks, edits);
}

function defaultsText(
  body: SplicedBody,
  surface: Pick<Surface, "path">,
  config: ParticipantConfig,
): string {
  let text = "";
  for (const { setting, name, isList } of defaultFields[surface.path] ?? []) {
    const value = config[setting];
    if (value === undefined || value === null) continue;
    const names = sameSetting[setting] ?? [name];
    if (body.members.some((member) => names.includes(member.key))) continue;
    const sent: unknown = isList === true && !Array.isArray(value) ? [value] : value;
    text += `${JSON.stringify(name)}:${JSON.stringify(sent)},`;
  }
  return text;
}

/** Only then are a text and its bytes read as Latin-1 the same. */
function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

interface Edit {
  start: number;
  end: number;
  text: Buffer;
}

/** @param edits - in ascending order, not overlapping; offsets are of the bytes before any edit */
function splice(chunks: readonly Buffer[], edits: readonly Edit[]): Buffer[] {
  if (edits.length === 0) return [...chunks];
  const out: Buffer[] = [];
  let position = 0;
  let next = 0;
  for (const chunk of chunks) {
    let from = 0;
    const end = position + chunk.length;
    for (let edit = edits[next]; edit !== undefined && edit.start < end; edit = edits[next]) {
      const start = Math.max(edit.start - position, from);
      if (start > from) out.push(chunk.subarray(from, start));
      if (edit.start >= position) out.push(edit.text);
      from = Math.min(edit.end - position, chunk.length);
      // A value cut by a chunk's end: the rest of it is dropped from the next chunk.
      if (edit.end > end) break;
      next++;
    }
    if (from < chunk.length) out.push(chunk.subarray(from));
    position = end;
  }
  return out;
}
