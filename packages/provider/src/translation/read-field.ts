import {
  isObject,
  type JsonObject,
  parseObject,
  printable,
  isDeeperThan,
  LIMITS,
} from "@roomhub/protocol";

const maxQuotedLength = 60;

/** The body of a request. @throws UntranslatableError `invalid_type` when it is no JSON object */
export function readBody(body: Buffer): JsonObject {
  const parsed = parseObject(body.toString("utf8"));
  if (parsed !== undefined) return parsed;
  throw new UntranslatableError("The request body must be a JSON object.", "", "invalid_type");
}

/** @returns `input[2].type`; just the key for a field of the body itself */
function pathTo(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/** @throws UntranslatableError `invalid_type` when the entry is no object, as for all readers here */
export function objectAt(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw wrongType(path, "an object");
  return value;
}

export function requiredString(from: JsonObject, key: string, path: string): string {
  const value = from[key];
  if (typeof value !== "string") throw wrongType(pathTo(path, key), "a string");
  return value;
}

/** @returns undefined when the field is absent or null, as for all optional ones */
export function optionalString(from: JsonObject, key: string, path: string): string | undefined {
  return isAbsent(from[key]) ? undefined : requiredString(from, key, path);
}

export function optionalNumber(from: JsonObject, key: string, path: string): number | undefined {
  const value = from[key];
  if (isAbsent(value)) return undefined;
  // `1e999` is a JSON number too, but it is parsed to infinity, which JSON cannot express.
  if (!Number.isFinite(value)) throw wrongType(pathTo(path, key), "a number");
  return value as number;
}

export function optionalBoolean(from: JsonObject, key: string, path: string): boolean | undefined {
  const value = from[key];
  if (isAbsent(value)) return undefined;
  if (typeof value !== "boolean") throw wrongType(pathTo(path, key), "a boolean");
  return value;
}

export function optionalObject(
  from: JsonObject,
  key: string,
  path: string,
): JsonObject | undefined {
  const value = from[key];
  return isAbsent(value) ? undefined : objectAt(value, pathTo(path, key));
}

export function optionalArray(
  from: JsonObject,
  key: string,
  path: string,
): readonly unknown[] | undefined {
  const value = from[key];
  if (isAbsent(value)) return undefined;
  if (!Array.isArray(value)) throw wrongType(pathTo(path, key), "an array");
  return value;
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

export function wrongType(path: string, expected: string): UntranslatableError {
  return new UntranslatableError(`${path} must be ${expected}.`, path, "invalid_type");
}

/**
 * The field is well formed, but a chat request cannot express it.
 *
 * @param what - subject of "has no counterpart …"
 */
export function noCounterpart(what: string, path: string, nextStep: string): UntranslatableError {
  return new UntranslatableError(
    `${what} has no counterpart in chat completions, the only API this participant's provider supports. ${nextStep}`,
    path,
  );
}

/** A client's or server's text, quoted for a message. */
export function quoted(word: string): string {
  const isLong = word.length > maxQuotedLength;
  return `"${printable(word.slice(0, maxQuotedLength))}${isLong ? "…" : ""}"`;
}

/** The request has no counterpart in chat. A 400; the provider got no request. */
export class UntranslatableError extends Error {
  override readonly name = "UntranslatableError";
  /** the field that cannot be translated, as a path: `input[2].type` */
  readonly param: string;
  readonly code:
    | "unsupported_value"
    | "invalid_type"
    | "previous_response_not_found"
    | "thread_not_found";

  constructor(
    message: string,
    param: string,
    code: UntranslatableError["code"] = "unsupported_value",
  ) {
    super(message);
    this.param = param;
    this.code = code;
  }
}

/** What is translated may be nested a little deeper than the request was. */
const maxDepth = 2 * LIMITS.jsonDepth.default;

/**
 * A hub refuses deep nesting; an agent cannot rely on its hub, and JSON of any depth cannot be written again.
 *
 * @throws UntranslatableError
 */
export function refuseDeepNesting(value: unknown): void {
  if (!isDeeperThan(value, maxDepth)) return;
  throw new UntranslatableError("The request body is nested too deeply.", "", "invalid_type");
}

/** Without the keys that have no value, which would hide what the client calls by the same name. */
export function present(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
