import { parseJson } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import { JsonScanner, type JsonMember, valueOf } from "../json/json-scan.ts";
import { type Checksum, PromptBorders } from "./prompt-borders.ts";
import { outputTokensOf, schemaFields, usesOf } from "./needs.ts";
import { sessionIn } from "./named-session.ts";
import { settingFields } from "./provider-body.ts";
import type { RequestBody } from "./request-body.ts";
import { WantedKeys, wantedKeys } from "../json/wanted-keys.ts";

/** The longest value the hub reads is a model name. */
const maxReadBytes = 4_096;
/** Of these a request has one. */
const promptFields = ["messages", "input", "prompt"];
/** All that the hub reads of a request; every other value passes unread. */
const wanted = new WantedKeys([
  ...wantedKeys(
    [
      "model",
      "stream",
      "previous_response_id",
      "store",
      "prompt_cache_key",
      "metadata",
      "safety_identifier",
      "user",
      "service_tier",
    ],
    maxReadBytes,
  ),
  // Where they are, and how long, is all that counts.
  ...wantedKeys(["stream_options", "tools", ...schemaFields, ...promptFields, ...settingFields], 0),
]);
const maxScalarBytes = 1_024;

/**
 * Reads `model` and `stream` while the body arrives. The rest is only checked to be JSON, never parsed, and leaves as it
 * came: unknown fields, big numbers, duplicate keys and key order included. Contract §3.
 */
export class RequestBodyReader {
  readonly #scanner: JsonScanner;
  readonly #chunks: Buffer[] = [];
  readonly #hasOnlyReader: boolean;
  readonly #borders: PromptBorders;
  #length = 0;
  /** up to where the prompt was looked at */
  #seen = 0;

  /**
   * @param hasOnlyReader - see {@link RequestBody}
   * @param checksum - for the borders of its prompt
   */
  constructor(maxDepth: number, hasOnlyReader: boolean, checksum: Checksum) {
    this.#borders = new PromptBorders(checksum);
    this.#hasOnlyReader = hasOnlyReader;
    this.#scanner = new JsonScanner({ wanted, maxDepth });
  }

  /** @throws HubError `invalid_json` or `field_too_large`, as soon as it is certain */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (!this.#scanner.push(chunk)) this.#refuse();
    this.#readPrompt(chunk);
  }

  /** @throws HubError `invalid_json`, `invalid_type` or `missing_required_parameter` */
  end(): RequestBody {
    if (!this.#scanner.end()) this.#refuse();
    const { bodyStart, members } = this.#scanner;
    const prompt = promptMember(this.#scanner);
    if (bodyStart === undefined) {
      throw new HubError("invalid_type", "The request body must be a JSON object.");
    }
    return {
      chunks: this.#chunks,
      length: this.#length,
      isForm: false,
      hasOnlyReader: this.#hasOnlyReader,
      model: readModel(this.#scanner.last("model")),
      isStream: this.#scanner.last("stream")?.raw === "true",
      previousResponseId: textOf(this.#scanner.last("previous_response_id")),
      prompt,
      outputTokens: outputTokensOf(this.#chunks, members),
      uses: usesOf(this.#chunks, members),
      promptBytes: prompt === undefined ? 0 : prompt.end - prompt.start,
      textBytes: prompt === undefined ? 0 : prompt.end - prompt.start - prompt.encodedBytes,
      promptBorders: this.#borders.borders,
      cacheKey: textOf(this.#scanner.last("prompt_cache_key")),
      sessionInMetadata: sessionIn(this.#scanner.last("metadata")),
      user: textOf(this.#scanner.last("safety_identifier")) ?? textOf(this.#scanner.last("user")),
      isFlex: textOf(this.#scanner.last("service_tier")) === "flex",
      isStored: this.#scanner.last("store")?.raw !== "false",
      members,
      bodyStart,
    };
  }

  /** @param chunk - the last one that was scanned */
  #readPrompt(chunk: Buffer): void {
    const from = this.#length - chunk.length;
    const whole = promptMember(this.#scanner);
    if (whole !== undefined && whole.end > this.#seen) {
      this.#borders.push(chunk, Math.max(whole.start, this.#seen, from) - from, whole.end - from);
      this.#seen = whole.end;
      return;
    }
    const { open } = this.#scanner;
    if (open === undefined || !promptFields.includes(open.key)) return;
    this.#borders.push(chunk, Math.max(open.start, from) - from, chunk.length);
    this.#seen = this.#length;
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
    const value = parseJson(Buffer.concat(this.#chunks).toString("utf8"));
    return value !== undefined && (typeof value !== "object" || value === null);
  }
}

function readModel(member: JsonMember | undefined): string {
  if (member === undefined) {
    throw new HubError("missing_required_parameter", "The field model is required.", {
      param: "model",
      hint: 'Use a participant id, a model name, or "*" for any participant.',
    });
  }
  if (member.raw === undefined) {
    throw new HubError("field_too_large", `model is longer than ${maxReadBytes} bytes.`, {
      param: "model",
    });
  }
  const value = valueOf(member);
  if (typeof value === "string" && value !== "") return value;
  throw new HubError("invalid_type", "model must be a non-empty string.", { param: "model" });
}

/** Whatever else stands there is for the provider to refuse. */
function textOf(member: JsonMember | undefined): string | undefined {
  const value = member === undefined ? undefined : valueOf(member);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function promptMember(scanner: JsonScanner): JsonMember | undefined {
  return scanner.members.findLast(({ key }) => promptFields.includes(key));
}
