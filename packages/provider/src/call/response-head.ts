import type { ResponseHead } from "./provider-call.ts";

/** The bytes are no HTTP/1.1 response; `message` says why not. */
export class InvalidResponseError extends Error {
  override readonly name = "InvalidResponseError";
}

export interface ParsedHead extends ResponseHead {
  /** names and values in turn, as they came */
  fields: readonly string[];
  /** how the body is framed, or its length in bytes */
  length: number | "chunked" | "until-close";
  /** The server keeps the connection. */
  isKept: boolean;
}

const statusLine = /^HTTP\/1\.([01]) (\d{3})(?: [\t\u0020-\u007e\u0080-\u00ff]*)?$/;
/** RFC 9110 §5.6.2 */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 9110 §5.5: no control characters but tabs */
const fieldValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

interface Field {
  line: string;
  /** with its letters */
  spelled: string;
  name: string;
  value: string;
}

/**
 * Names and values in turn.
 *
 * @param lines - of trailers
 * @throws {InvalidResponseError}
 */
export function fieldsOf(lines: readonly string[]): string[] {
  return lines.map(parseField).flatMap(({ spelled, value }) => [spelled, value]);
}

/**
 * The heads of a server's responses. They are often, byte for byte, the one before: then they are the same record.
 * Otherwise most of their lines are.
 */
export class ResponseHeads {
  #text = "";
  #parsed: ParsedHead | undefined;
  #fields: readonly Field[] = [];

  /**
   * @param text - Latin-1, without the empty line
   * @throws {InvalidResponseError}
   */
  parse(text: string): ParsedHead {
    if (this.#parsed === undefined || text !== this.#text) {
      const [first = "", ...lines] = text.split("\r\n");
      const before = this.#fields;
      this.#fields = lines.map((line, index) => {
        const same = before[index];
        return same?.line === line ? same : parseField(line);
      });
      this.#parsed = headOf(first, this.#fields);
      this.#text = text;
    }
    return this.#parsed;
  }
}

function parseField(line: string): Field {
  const colon = line.indexOf(":");
  const spelled = line.slice(0, Math.max(0, colon));
  const name = spelled.toLowerCase();
  const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "");
  if (!token.test(name) || !fieldValue.test(value))
    throw new InvalidResponseError("a header is malformed");
  return { line, spelled, name, value };
}

function headOf(first: string, parsed: readonly Field[]): ParsedHead {
  const [, minor, status] = statusLine.exec(first) ?? [];
  if (status === undefined) throw new InvalidResponseError("its status line is malformed");
  const headers: Record<string, string> = {};
  const lengths: string[] = [];
  const encodings: string[] = [];
  const connection: string[] = [];
  const fields: string[] = [];
  for (const { spelled, name, value } of parsed) {
    fields.push(spelled, value);
    if (name === "content-length") lengths.push(value);
    else if (name === "transfer-encoding") encodings.push(value);
    else if (name === "connection") connection.push(value);
    if (!Object.hasOwn(headers, name)) headers[name] = value;
  }
  const options = connection.join(",").toLowerCase();
  return {
    status: Number(status),
    headers: Object.freeze(headers),
    fields,
    length: lengthOf(lengths, encodings),
    isKept: minor === "1" ? !/\bclose\b/.test(options) : /\bkeep-alive\b/.test(options),
  };
}

/** RFC 9112 §6.3. A length that is given twice is an attack or a mistake. */
function lengthOf(lengths: readonly string[], encodings: readonly string[]): ParsedHead["length"] {
  const [length] = lengths;
  const [encoding] = encodings;
  if (lengths.length + encodings.length > 1) {
    throw new InvalidResponseError("it says twice how long its body is");
  }
  if (encoding !== undefined) {
    if (encoding.toLowerCase() === "chunked") return "chunked";
    throw new InvalidResponseError("its transfer-encoding is not chunked");
  }
  if (length === undefined) return "until-close";
  if (!/^\d{1,15}$/.test(length)) throw new InvalidResponseError("its content-length is no number");
  return Number(length);
}
