/** A field of a form that is wanted. Offsets are of its value in the whole body. */
export interface FormField {
  name: string;
  start: number;
  end: number;
  /** undefined when it is a file, or longer than is kept */
  value: string | undefined;
  /** undefined when it is no file */
  fileName: string | undefined;
}

type State = "content" | "delimiter" | "headers" | "after";

const crlf = "\r\n";
const carriageReturn = 0x0d;
const endOfHeaders = Buffer.from("\r\n\r\n");
const maxHeaderBytes = 16 * 1024;
const maxParts = 1_000;
const headerLine = /^([!-9;-~]+):[\t ]*(.*)$/s;
const parameter = /\s*;\s*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))/y;

/**
 * Reads `multipart/form-data` as its bytes arrive, in any cut, and notes where the wanted fields stand. RFC 7578 and 2046,
 * read strictly: what one reader would take for the end of a part and another would not is a problem, since the model
 * server reads the same bytes.
 */
export class FormScanner {
  readonly fields: FormField[] = [];
  /** what is wrong, as the end of a sentence */
  problem: string | undefined;
  readonly #wanted: ReadonlySet<string>;
  readonly #maxValueBytes: number;
  readonly #onFileBytes: ((bytes: Buffer) => void) | undefined;
  readonly #delimiter: Buffer;
  #state: State = "content";
  /** The first delimiter may stand at the beginning, without the line end that belongs to all others. */
  #kept = Buffer.from(crlf);
  /** where `#kept` begins in the whole body */
  #position = -crlf.length;
  #parts = 0;
  /** of the wanted field that is being read */
  #field: (FormField & { pieces: Buffer[] | undefined }) | undefined;

  /** @param onFileBytes - called with what wanted fields that are files contain, in order; the bytes are those of the chunks */
  constructor(
    boundary: string,
    wanted: readonly string[],
    maxValueBytes: number,
    onFileBytes?: (bytes: Buffer) => void,
  ) {
    this.#onFileBytes = onFileBytes;
    this.#delimiter = Buffer.from(`${crlf}--${boundary}`);
    this.#wanted = new Set(wanted);
    this.#maxValueBytes = maxValueBytes;
  }

  /** Up to here it is certain what each byte is. */
  get position(): number {
    return this.#position;
  }

  /** @returns false once there is a problem */
  push(chunk: Buffer): boolean {
    // Few chunks end in what may be the beginning of a delimiter: the others are not copied.
    let bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    while (this.problem === undefined) {
      const taken = this.#take(bytes);
      if (taken === undefined) break;
      this.#position += taken;
      bytes = bytes.subarray(taken);
    }
    this.#kept = Buffer.from(bytes);
    return this.problem === undefined;
  }

  /** The body is whole. @returns false when it is not whole as a form */
  end(): boolean {
    if (this.#state !== "after") this.problem ??= "has no closing boundary";
    return this.problem === undefined;
  }

  /** @returns how many of these bytes are read; undefined when more are needed */
  #take(bytes: Buffer): number | undefined {
    switch (this.#state) {
      case "content":
        return this.#takeContent(bytes);
      case "delimiter":
        return this.#takeDelimiterEnd(bytes);
      case "headers":
        return this.#takeHeaders(bytes);
      case "after":
        return bytes.length === 0 ? undefined : bytes.length;
    }
  }

  #takeContent(bytes: Buffer): number | undefined {
    const at = bytes.indexOf(this.#delimiter);
    const end = at < 0 ? bytes.length - this.#beginningOfDelimiter(bytes) : at;
    this.#readValue(bytes.subarray(0, end));
    if (at < 0) return end === 0 ? undefined : end;
    this.#endField(this.#position + at);
    this.#state = "delimiter";
    return at + this.#delimiter.length;
  }

  /** How many bytes at the end may be the beginning of a delimiter. */
  #beginningOfDelimiter(bytes: Buffer): number {
    const end = bytes.subarray(Math.max(0, bytes.length - this.#delimiter.length + 1));
    // It has one carriage return, its first byte.
    const start = end.lastIndexOf(carriageReturn);
    if (start < 0) return 0;
    const beginning = end.subarray(start);
    const isOne = this.#delimiter.subarray(0, beginning.length).equals(beginning);
    return isOne ? beginning.length : 0;
  }

  #takeDelimiterEnd(bytes: Buffer): number | undefined {
    if (bytes.length < 2) return undefined;
    const next = bytes.toString("latin1", 0, 2);
    if (next === "--") {
      this.#state = "after";
      return 2;
    }
    if (next !== crlf) this.problem = "has its boundary at the beginning of a line of content";
    if (++this.#parts > maxParts) this.problem = `has more than ${maxParts} parts`;
    this.#state = "headers";
    // The line end counts as the one before the first header: a part may have none.
    return this.problem === undefined ? 0 : undefined;
  }

  #takeHeaders(bytes: Buffer): number | undefined {
    const at = bytes.indexOf(endOfHeaders);
    if ((at < 0 ? bytes.length : at) > maxHeaderBytes) {
      this.problem = "has a part with very long headers";
    }
    if (at < 0 || this.problem !== undefined) return undefined;
    const length = at + endOfHeaders.length;
    this.#readHeaders(bytes.toString("utf8", crlf.length, at), this.#position + length);
    this.#state = "content";
    return length;
  }

  #readHeaders(text: string, start: number): void {
    const found: string[] = [];
    for (const line of text === "" ? [] : text.split(crlf)) {
      const [, name = "", value = ""] = headerLine.exec(line) ?? [];
      if (name === "") this.problem = "has a part with an invalid header";
      if (name.toLowerCase() === "content-disposition") found.push(value);
    }
    const [disposition, ...others] = found;
    const parameters = disposition === undefined ? undefined : parametersOf(disposition);
    const name = parameters?.get("name");
    if (others.length > 0 || name === undefined) {
      this.problem ??= "has a part without one clear name";
      return;
    }
    if (!this.#wanted.has(name)) return;
    const fileName = parameters?.get("filename") ?? parameters?.get("filename*");
    const pieces = fileName === undefined ? [] : undefined;
    this.#field = { name, start, end: start, value: undefined, fileName, pieces };
  }

  #readValue(bytes: Buffer): void {
    const field = this.#field;
    if (field === undefined) return;
    field.end += bytes.length;
    if (field.fileName !== undefined && bytes.length > 0) this.#onFileBytes?.(bytes);
    if (field.end - field.start > this.#maxValueBytes) field.pieces = undefined;
    field.pieces?.push(Buffer.from(bytes));
  }

  #endField(end: number): void {
    const field = this.#field;
    this.#field = undefined;
    if (field === undefined) return;
    const { name, start, fileName, pieces } = field;
    const value = pieces === undefined ? undefined : Buffer.concat(pieces).toString("utf8");
    this.fields.push({ name, start, end, value, fileName });
  }
}

/** @returns undefined when another reader may find other parameters */
function parametersOf(disposition: string): ReadonlyMap<string, string> | undefined {
  const [type = ""] = disposition.split(";", 1);
  if (type.trim().toLowerCase() !== "form-data") return undefined;
  const found = new Map<string, string>();
  let end = type.length;
  while (disposition.slice(end).trim() !== "") {
    parameter.lastIndex = end;
    const [match, key = "", quoted, plain = ""] = parameter.exec(disposition) ?? [];
    const name = key.toLowerCase();
    if (match === undefined || found.has(name)) return undefined;
    found.set(name, quoted?.replaceAll(/\\(.)/g, "$1") ?? plain);
    end += match.length;
  }
  return found;
}
