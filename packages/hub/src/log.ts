import { escapeUnprintable } from "@roomhub/protocol";
import { createRequire } from "node:module";
import type { pino as Pino } from "pino";

/** `silent` is for hubs embedded in tests and other programs. */
export type LogFormat = "text" | "json" | "silent";

/**
 * The operator's console. Interface §1: `[service] llm.request …` on stdout, in parallel with the events.
 * Values are JSON-quoted, so that nothing inside one can begin a line or an escape sequence.
 */
export interface Log {
  /** One line per llm event. @param fields - not changed afterwards */
  event(name: string, roomCode: string, fields: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** A bug: the only place a stack is written. */
  bug(message: string, error: unknown): void;
}

/** A line, or an object that becomes one when it is written, after the request. */
type LogLine = string | { toString(): string };

/** Writes lines in batches, because a write costs more than the lines. */
interface LineWriter {
  write(line: LogLine): void;
  /** Writes at once: the program may be about to end. */
  flush(): void;
}

const maxWaitingLines = 256;

/** @param later - calls back after a moment */
export function createLineWriter(
  write: (lines: string) => void,
  later: (flush: () => void) => void,
): LineWriter {
  let waiting: LogLine[] = [];
  const flush = (): void => {
    if (waiting.length === 0) return;
    let lines = "";
    for (const line of waiting) lines += String(line);
    waiting = [];
    write(lines);
  };
  return {
    flush,
    write(line) {
      if (waiting.length === 0) later(flush);
      waiting.push(line);
      if (waiting.length === maxWaitingLines) flush();
    },
  };
}

/** @param flush - writes waiting lines now: a bug may be the last line of a process */
export function createLog(
  format: LogFormat,
  write: (line: LogLine) => void,
  flush: () => void = () => undefined,
): Log {
  if (format === "silent") return { event() {}, warn() {}, bug() {} };
  if (format === "json") return jsonLog(write, flush);
  const text = new FieldText();
  return {
    // Each request has two event lines: their texts are made when they are written, many at once.
    event: (name, roomCode, fields) =>
      write({ toString: () => `${text.ofEvent(name, roomCode, fields)}\n` }),
    warn: (message, fields = {}) => write(`[service] warning ${message}${text.of(fields)}\n`),
    bug(message, error) {
      write(`[service] bug ${message} ${escapeUnprintable(JSON.stringify(describe(error)))}\n`);
      flush();
    },
  };
}

function jsonLog(write: (line: LogLine) => void, flush: () => void): Log {
  const text = new FieldText();
  // Loaded only now: most hubs run without it, and it takes one to two megabytes.
  const { pino } = createRequire(import.meta.url)("pino") as { pino: typeof Pino };
  const logger = pino(
    { base: null, redact: [...redacted] },
    { write: (line) => write(`${escapeUnprintable(line.trimEnd())}\n`) },
  );
  return {
    // The line is the same text as without JSON, and its values are fields as well.
    event: (name, roomCode, fields) =>
      logger.info({ roomCode, ...flat(fields) }, text.ofEvent(name, roomCode, fields)),
    warn: (message, fields = {}) => logger.warn(fields, message),
    bug(message, error) {
      logger.error({ error: describe(error) }, message);
      flush();
    },
  };
}

function flat(fields: LogFields): Record<string, unknown> {
  const entries = Object.entries(fields).flatMap(([key, value]) =>
    typeof value === "object" && value !== null ? Object.entries(value) : [[key, value]],
  );
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

type LogValue = string | number | null | undefined;
/** The fields of a nested record are written like top-level fields. */
export type LogFields = Readonly<Record<string, LogValue | Readonly<Record<string, LogValue>>>>;

const redacted = new Set([
  "authHeaders",
  "password",
  "authorization",
  "participantToken",
  "clientKey",
]);

/** The one field whose values never repeat. */
const neverRepeated = "requestId";
const maxKnown = 512;
const maxKnownLength = 128;
/** Nothing to escape, as in nearly every value. */
const plain = /^[ !#-[\]-~]*$/;

/** One field: its name as text, and its last value. */
interface KnownField {
  readonly prefix: string;
  readonly isRedacted: boolean;
  /** undefined when values never repeat */
  last: { value: string; text: string } | undefined;
}

/** Writes fields as ` name="value" …`. Names and values that repeat in every line are looked up. */
class FieldText {
  readonly #fields = new Map<string, KnownField>();
  readonly #known = new Map<string, string>();

  ofEvent(name: string, roomCode: string, fields: LogFields): string {
    return `[service] ${name} roomCode=${this.#quoted(roomCode)}${this.of(fields)}`;
  }

  /** @returns "" for no fields; begins with a space otherwise */
  of(fields: LogFields): string {
    let text = "";
    for (const name in fields) {
      const value = fields[name];
      if (value === undefined) continue;
      if (typeof value === "object" && value !== null) {
        text += this.of(value);
        continue;
      }
      const field = this.#field(name);
      text += field.prefix + this.#written(field, value);
    }
    return text;
  }

  #field(name: string): KnownField {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    const last = name === neverRepeated ? undefined : { value: "", text: '""' };
    const made = { prefix: ` ${name}=`, isRedacted: redacted.has(name), last };
    this.#fields.set(name, made);
    return made;
  }

  #written({ isRedacted, last }: KnownField, value: string | number | null): string {
    if (isRedacted) return '"[redacted]"';
    if (typeof value !== "string") return String(value);
    if (last === undefined) return quoted(value);
    if (last.value !== value) {
      last.text = this.#quoted(value);
      last.value = value;
    }
    return last.text;
  }

  #quoted(value: string): string {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const text = quoted(value);
    if (value.length > maxKnownLength) return text;
    if (this.#known.size === maxKnown) this.#known.clear();
    this.#known.set(value, text);
    return text;
  }
}

function quoted(value: string): string {
  return plain.test(value) ? `"${value}"` : escapeUnprintable(JSON.stringify(value));
}
