import type { InferenceProtocol, ParticipantConfig } from "@roomhub/protocol";
import { HubError } from "../errors.ts";
import { JsonScanner, type JsonMember } from "./json-scan.ts";

/** A request's body as it came, and what the hub reads of it. */
export interface RequestBody {
  /** the client's own bytes, in the cuts they came in */
  chunks: readonly Buffer[];
  length: number;
  /** the `model` field: a selector. Interface §4 */
  model: string;
  isStream: boolean;
  /** members of the outermost object that the hub may have to touch */
  members: readonly JsonMember[];
  /** offset behind the outermost `{` */
  bodyStart: number;
}

/** Names under which a request may already say what a participant's default would say. Contract §1. */
const sameSetting: Record<string, readonly string[]> = {
  max_tokens: ["max_tokens", "max_completion_tokens", "max_output_tokens"],
};

/** Which default goes to which surface, and under which name. Contract §1: only where the protocol has the field. */
const chatFields = {
  temperature: "temperature",
  top_p: "top_p",
  max_tokens: "max_tokens",
  stop: "stop",
  frequency_penalty: "frequency_penalty",
  presence_penalty: "presence_penalty",
  seed: "seed",
} as const;
const defaultFields: Record<InferenceProtocol, Record<string, string>> = {
  chatCompletions: chatFields,
  completions: chatFields,
  openResponses: {
    temperature: "temperature",
    top_p: "top_p",
    max_tokens: "max_output_tokens",
    instructions: "instructions",
  },
  embeddings: {},
};

const wanted: ReadonlySet<string> = new Set([
  "model",
  "stream",
  "instructions",
  ...Object.keys(chatFields),
  ...Object.values(sameSetting).flat(),
]);
/** The longest value the hub reads itself is a model name; the others only count as present. */
const maxCapturedBytes = 4_096;
const maxScalarBytes = 1_024;

/**
 * Reads `model` and `stream` while the body arrives. The rest is only checked to be JSON, never parsed, and leaves as it
 * came: unknown fields, big numbers, duplicate keys and key order included. Contract §3.
 */
export class RequestBodyReader {
  readonly #scanner: JsonScanner;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(maxDepth: number) {
    this.#scanner = new JsonScanner({ wanted, maxDepth, maxCapturedBytes });
  }

  /** @throws HubError `invalid_json` or `field_too_large`, as soon as it is certain */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (!this.#scanner.push(chunk)) this.#refuse();
  }

  /** @throws HubError `invalid_json`, `invalid_type` or `missing_required_parameter` */
  end(): RequestBody {
    if (!this.#scanner.end()) this.#refuse();
    const { bodyStart, members } = this.#scanner;
    if (bodyStart === undefined) {
      throw new HubError("invalid_type", "The request body must be a JSON object.");
    }
    return {
      chunks: this.#chunks,
      length: this.#length,
      model: readModel(this.#scanner.last("model")),
      isStream: this.#scanner.last("stream")?.raw?.toString("latin1") === "true",
      members,
      bodyStart,
    };
  }

  #refuse(): never {
    const problem = this.#scanner.problem;
    if (problem?.kind === "depth") {
      throw new HubError("field_too_large", "The request body is nested too deeply.");
    }
    if (problem?.kind === "repetition") {
      throw new HubError("field_too_large", "The request body repeats its fields too often.");
    }
    if (this.#isScalar()) {
      throw new HubError("invalid_type", "The request body must be a JSON object.");
    }
    throw new HubError(
      "invalid_json",
      this.#length === 0
        ? "The request body is empty; it must be a JSON object with a model."
        : `The request body is not valid JSON (at byte ${problem?.offset ?? 0}).`,
    );
  }

  /** `null`, `"text"` and `1` are JSON, and yet nothing to read a model from. */
  #isScalar(): boolean {
    if (this.#length > maxScalarBytes) return false;
    try {
      const value: unknown = JSON.parse(Buffer.concat(this.#chunks).toString("utf8"));
      return typeof value !== "object" || value === null;
    } catch {
      return false; // not JSON at all, which is what will be said
    }
  }
}

function readModel(member: JsonMember | undefined): string {
  if (member === undefined) {
    throw new HubError("missing_required_parameter", "The field model is required.", {
      param: "model",
      hint: 'Use a participant id, a model name, or "*" for anybody.',
    });
  }
  if (member.raw === undefined) {
    throw new HubError("field_too_large", `model is longer than ${maxCapturedBytes} bytes.`, {
      param: "model",
    });
  }
  const value: unknown = JSON.parse(member.raw.toString("utf8"));
  if (typeof value === "string" && value !== "") return value;
  throw new HubError("invalid_type", "model must be a non-empty string.", { param: "model" });
}

/**
 * The body as the participant's provider gets it: every top-level `model` replaced by the provider's own name, the
 * participant's defaults put in front, all other bytes untouched. Contract §3.
 */
export function bodyForProvider(
  body: RequestBody,
  protocol: InferenceProtocol,
  model: string,
  config: ParticipantConfig,
): Buffer[] {
  const edits: Edit[] = [];
  const defaults = defaultsText(body, protocol, config);
  if (defaults !== "") {
    edits.push({ start: body.bodyStart, end: body.bodyStart, text: Buffer.from(defaults) });
  }
  const name = Buffer.from(JSON.stringify(model));
  for (const member of body.members) {
    if (member.key === "model" && member.raw?.equals(name) !== true) {
      edits.push({ start: member.start, end: member.end, text: name });
    }
  }
  return splice(body.chunks, edits);
}

function defaultsText(
  body: RequestBody,
  protocol: InferenceProtocol,
  config: ParticipantConfig,
): string {
  let text = "";
  for (const [setting, field] of Object.entries(defaultFields[protocol])) {
    const value = config[setting];
    if (value === undefined || value === null) continue;
    const names = sameSetting[setting] ?? [field];
    if (body.members.some((member) => names.includes(member.key))) continue;
    // The object is never empty: it has a model. So a comma always follows.
    text += `${JSON.stringify(field)}:${JSON.stringify(value)},`;
  }
  return text;
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
