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
export function readBody(body: Buffer): PlacedObject {
  const parsed = parseObject(body.toString("utf8"));
  if (parsed !== undefined) return new PlacedObject(parsed, "");
  throw new UntranslatableError("The request body must be a JSON object.", "", "invalid_type");
}

/**
 * An object in a request, and where: `input[2]`, empty for the body itself. Its readers throw an UntranslatableError
 * `invalid_type` for a field of another type; the optional ones return undefined when the field is absent or null.
 */
export class PlacedObject {
  readonly value: JsonObject;
  readonly path: string;

  /** @throws UntranslatableError when the value is no object */
  constructor(value: unknown, path: string) {
    if (!isObject(value)) throw wrongType(path, "an object");
    this.value = value;
    this.path = path;
  }

  /** @returns `input[2].type`; just the key for a field of the body itself */
  pathTo(key: string): string {
    return this.path === "" ? key : `${this.path}.${key}`;
  }

  has(key: string): boolean {
    return !isAbsent(this.value[key]);
  }

  string(key: string): string {
    const value = this.value[key];
    if (typeof value !== "string") throw wrongType(this.pathTo(key), "a string");
    return value;
  }

  optionalString(key: string): string | undefined {
    return this.has(key) ? this.string(key) : undefined;
  }

  optionalNumber(key: string): number | undefined {
    const value = this.value[key];
    if (isAbsent(value)) return undefined;
    // `1e999` is a JSON number too, but it is parsed to infinity, which JSON cannot express.
    if (!Number.isFinite(value)) throw wrongType(this.pathTo(key), "a number");
    return value as number;
  }

  optionalBoolean(key: string): boolean | undefined {
    const value = this.value[key];
    if (isAbsent(value)) return undefined;
    if (typeof value !== "boolean") throw wrongType(this.pathTo(key), "a boolean");
    return value;
  }

  object(key: string): PlacedObject {
    return new PlacedObject(this.value[key], this.pathTo(key));
  }

  optionalObject(key: string): PlacedObject | undefined {
    return this.has(key) ? this.object(key) : undefined;
  }

  /** {@link optionalObject}, empty instead of absent. */
  objectOrEmpty(key: string): PlacedObject {
    return this.optionalObject(key) ?? new PlacedObject({}, this.pathTo(key));
  }

  optionalArray(key: string): readonly unknown[] | undefined {
    const value = this.value[key];
    if (isAbsent(value)) return undefined;
    if (!Array.isArray(value)) throw wrongType(this.pathTo(key), "an array");
    return value;
  }

  /** Reads the objects of a list one after the other; none when it is absent. */
  each<Read>(key: string, read: (entry: PlacedObject) => Read): Read[] {
    return eachOf(this.optionalArray(key) ?? [], this.pathTo(key), read);
  }
}

/** Reads the objects of the list that is at `path`, one after the other. */
export function eachOf<Read>(
  list: readonly unknown[],
  path: string,
  read: (entry: PlacedObject) => Read,
): Read[] {
  return list.map((entry, index) => read(new PlacedObject(entry, `${path}[${index}]`)));
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
