import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import {
  type InferenceProtocol,
  isObject,
  type JsonObject,
  parseJson,
  parseObject,
  SURFACES,
} from "@roomhub/protocol";
import { type HashOf, IdIndex, NumberColumn } from "./id-index.ts";
import { memberText } from "./json-member.ts";
import { readLines } from "./line-reader.ts";

/** Longer lines are an error: a line is in memory while it is checked and sent. */
export const maxLineBytes = 16 * 1024 * 1024;

/** So many models have queues of their own; lines with others have one in common. */
const maxModels = 255;

/** What is wrong with a line of an input. */
export interface LineProblem {
  /** from 1 */
  line: number;
  code: ProblemCode;
  /** the end of a sentence about the line */
  problem: string;
}

/** Those of OpenAI's batches where it has one. */
type ProblemCode =
  | "line_too_long"
  | "invalid_json_line"
  | "empty_file"
  | "too_many_requests"
  | "missing_required_parameter"
  | "invalid_method"
  | "invalid_url"
  | "mismatched_url"
  | "streaming_unsupported"
  | "duplicate_custom_id";

export interface CheckOptions {
  /** problems to keep; default 10 */
  maxProblems?: number | undefined;
  /** more are a problem; default: any number */
  maxRequests?: number | undefined;
  /** of ids; two texts with one hash remain two */
  hashOf?: HashOf | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Reads a file of requests in OpenAI's batch format, and checks every line: JSON, a `custom_id` that no other line has,
 * `POST`, one url for all that is a surface, a body that does not stream. Keeps some 25 bytes of memory for each line.
 *
 * @returns the input, which the caller closes, or the first problems
 * @throws NodeJS.ErrnoException when the file cannot be read, the signal's reason
 */
export async function checkInput(path: string, { signal, ...options }: CheckOptions = {}) {
  const file = await open(path, "r");
  try {
    const check = new InputCheck(file, options);
    await readLines(file, {
      maxLineBytes,
      signal,
      onChunk: (chunk) => check.addBytes(chunk),
      onLine: ({ bytes, offset }) => check.addLine(bytes, offset),
    });
    const checked = check.end();
    if (checked.input === undefined) await file.close();
    return checked;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** A request of an input, ready to be sent. */
export interface BatchRequest {
  customId: string;
  /** JSON, as it is in the file */
  body: string;
}

/** A checked file of requests. They are numbered from 0 in the order of the file; blank lines have no number. */
export class BatchInput {
  readonly bytes: number;
  readonly sha256: string;
  /** of requests */
  readonly count: number;
  /** of all requests, such as `/v1/chat/completions` */
  readonly url: string;
  /** The values of `model` by number; the last one is undefined when there are too many to tell apart. */
  readonly models: readonly (string | undefined)[];
  readonly #file: FileHandle;
  readonly #index: LineIndex;

  constructor(
    file: FileHandle,
    index: LineIndex,
    facts: Pick<BatchInput, "bytes" | "sha256" | "url"> & { models: readonly string[] },
  ) {
    ({ bytes: this.bytes, sha256: this.sha256, url: this.url } = facts);
    this.count = index.count;
    this.models = index.hasOtherModels ? [...facts.models, undefined] : facts.models;
    this.#file = file;
    this.#index = index;
  }

  /** What the requests are, as events call it. */
  get protocol(): InferenceProtocol {
    return surfaces.get(this.url)?.protocol ?? "chatCompletions";
  }

  /** The number of a request's model. */
  modelOf(number: number): number {
    return this.#index.modelOf(number);
  }

  /** @throws Error when the file has changed since it was checked */
  async read(number: number): Promise<BatchRequest> {
    const text = await this.#text(number);
    const { custom_id: customId } = parseObject(text) ?? {};
    const body = typeof customId === "string" ? memberText(text, "body") : undefined;
    if (typeof customId !== "string" || body === undefined) {
      throw new Error("The input file has changed while its requests were sent");
    }
    return { customId, body };
  }

  /** @returns undefined for an id that no request has */
  numberOf(customId: string): number | undefined {
    const candidates = this.#index.ids.find(customId);
    // An id in a file of this batch is one of its own: texts are compared only when hashes do not tell two apart.
    if (candidates.length < 2) return candidates[0];
    return candidates.find(
      (number) => customIdAt(this.#file, this.#index.placeOf(number)) === customId,
    );
  }

  /** Frees the memory of ids; afterwards {@link numberOf} knows none. */
  forgetIds(): void {
    this.#index.ids = new IdIndex();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #text(number: number): Promise<string> {
    const { offset, bytes } = this.#index.placeOf(number);
    const buffer = Buffer.allocUnsafe(bytes);
    const { bytesRead } = await this.#file.read(buffer, 0, bytes, offset);
    return firstLine(buffer.subarray(0, bytesRead));
  }
}

interface LinePlace {
  offset: number;
  bytes: number;
}

/** Read again from the file, since only hashes of ids are kept. */
function customIdAt(file: FileHandle, { offset, bytes }: LinePlace): unknown {
  const buffer = Buffer.allocUnsafe(bytes);
  readSync(file.fd, buffer, 0, bytes, offset);
  return parseObject(firstLine(buffer))?.["custom_id"];
}

function firstLine(bytes: Buffer): string {
  const end = bytes.indexOf("\n");
  return bytes.toString("utf8", 0, end < 0 ? bytes.length : end);
}

/** Where the requests of a file are, and what they ask for, in typed arrays. */
class LineIndex {
  ids: IdIndex;
  hasOtherModels = false;
  /** where the last request ends, of those so far */
  #end = 0;
  /** 48 bits */
  readonly #offsets = new NumberColumn((length) => new Uint32Array(length));
  readonly #offsetsAbove = new NumberColumn((length) => new Uint16Array(length));
  readonly #models = new NumberColumn((length) => new Uint8Array(length));

  constructor(hashOf: HashOf | undefined) {
    this.ids = new IdIndex(hashOf);
  }

  get count(): number {
    return this.#offsets.length;
  }

  add(offset: number, bytes: number, model: number): void {
    this.#end = offset + bytes;
    this.#offsets.push(offset % 2 ** 32);
    this.#offsetsAbove.push(Math.floor(offset / 2 ** 32));
    this.#models.push(model);
    this.hasOtherModels ||= model === maxModels;
  }

  /** The line and those after it that are no requests: lengths would take half as much memory again. */
  placeOf(number: number): LinePlace {
    const offset = this.#offsetOf(number);
    const isLast = number === this.count - 1;
    const end = isLast ? this.#end : this.#offsetOf(number + 1);
    return { offset, bytes: Math.min(maxLineBytes, end - offset) };
  }

  modelOf(number: number): number {
    return this.#models.at(number);
  }

  #offsetOf(number: number): number {
    return this.#offsetsAbove.at(number) * 2 ** 32 + this.#offsets.at(number);
  }
}

/** One reading of a file, line by line. */
class InputCheck {
  readonly #file: FileHandle;
  readonly #maxProblems: number;
  readonly #maxRequests: number;
  readonly #hash = createHash("sha256");
  readonly #index: LineIndex;
  readonly #models = new Map<string, number>();
  readonly #problems: LineProblem[] = [];
  #problemCount = 0;
  #bytes = 0;
  #line = 0;
  #url: string | undefined;

  constructor(
    file: FileHandle,
    { maxProblems = 10, maxRequests = Number.POSITIVE_INFINITY, hashOf }: CheckOptions,
  ) {
    this.#index = new LineIndex(hashOf);
    this.#file = file;
    this.#maxRequests = maxRequests;
    this.#maxProblems = maxProblems;
  }

  addBytes(chunk: Buffer): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  addLine(bytes: Buffer | undefined, offset: number): void {
    this.#line++;
    if (bytes === undefined) {
      return this.#note(["line_too_long", `is longer than ${maxLineBytes / 1024 / 1024} MiB`]);
    }
    if (!isUtf8(bytes)) return this.#note(["invalid_json_line", "is not UTF-8"]);
    // Editors on Windows put a byte order mark before the first line.
    const skipped = offset === 0 && bytes.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
    const text = bytes.toString("utf8", skipped);
    if (text.trim() === "") return;
    const value = parseJson(text);
    if (!isObject(value)) {
      const problem = value === undefined ? "is not JSON" : "is not a JSON object";
      return this.#note(["invalid_json_line", problem]);
    }
    if (this.#index.count === this.#maxRequests) {
      const problem = `is a request more than the ${this.#maxRequests} that a batch may have`;
      if (this.#problemCount === 0) this.#note(["too_many_requests", problem]);
      return;
    }
    const problem = this.#problemOf(value);
    if (problem !== undefined) return this.#note(problem);
    this.#index.add(offset + skipped, bytes.length - skipped, this.#numberOfModel(value));
  }

  end() {
    if (this.#line === 0 || (this.#index.count === 0 && this.#problemCount === 0)) {
      this.#line = 1;
      this.#note(["empty_file", "is missing: the file has no requests"]);
    }
    const problems = { problems: this.#problems, problemCount: this.#problemCount };
    if (this.#problemCount > 0) return { input: undefined, ...problems };
    const input = new BatchInput(this.#file, this.#index, {
      bytes: this.#bytes,
      sha256: this.#hash.digest("hex"),
      url: this.#url ?? "",
      models: [...this.#models.keys()],
    });
    return { input, ...problems };
  }

  #note([code, problem]: Problem): void {
    this.#problemCount++;
    if (this.#problems.length < this.#maxProblems) {
      this.#problems.push({ line: this.#line, code, problem });
    }
  }

  #problemOf({ custom_id: id, method, url, body }: JsonObject): Problem | undefined {
    if (typeof id !== "string" || id === "") return missing("has no custom_id");
    if (method !== "POST") return ["invalid_method", 'has a method other than "POST"'];
    if (typeof url !== "string") return missing("has no url");
    if (!surfaces.has(url)) {
      return ["invalid_url", `has a url that rooms do not have: ${JSON.stringify(url)}`];
    }
    this.#url ??= url;
    if (url !== this.#url) {
      return ["mismatched_url", `has another url than the first one, ${this.#url}`];
    }
    if (!isObject(body)) return missing("has no body that is an object");
    if (body["stream"] === true) {
      return ["streaming_unsupported", 'has "stream": true, and results are not streamed'];
    }
    return this.#problemOfId(id);
  }

  #problemOfId(id: string): Problem | undefined {
    const same = this.#index.ids
      .find(id)
      .filter((number) => customIdAt(this.#file, this.#index.placeOf(number)) === id);
    if (same.length > 0) {
      return ["duplicate_custom_id", `has the custom_id of an earlier line: ${JSON.stringify(id)}`];
    }
    this.#index.ids.add(id);
    return undefined;
  }

  #numberOfModel({ body }: JsonObject): number {
    const { model } = isObject(body) ? body : { model: undefined };
    const name = typeof model === "string" ? model : "";
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    if (this.#models.size === maxModels) return maxModels;
    this.#models.set(name, this.#models.size);
    return this.#models.size - 1;
  }
}

type Problem = [ProblemCode, problem: string];

function missing(problem: string): Problem {
  return ["missing_required_parameter", problem];
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** By url, as OpenAI's batches name operations: below the URL that ends before `/v1`. */
export const surfaces = new Map(
  SURFACES.map((surface) => [
    surface.path.startsWith("v2/") ? `/${surface.path}` : `/v1/${surface.path}`,
    surface,
  ]),
);
