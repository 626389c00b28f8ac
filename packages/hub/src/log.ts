import pino from "pino";

/** `silent` is for hubs embedded in tests and other programs. */
export type LogFormat = "text" | "json" | "silent";

type LogValue = string | number | null | undefined;
/** The fields of a record among them are written as if they stood there themselves. */
export type LogFields = Readonly<Record<string, LogValue | Readonly<Record<string, LogValue>>>>;

/**
 * The operator's console. Interface §1: `[service] llm.request …` on stdout, in parallel with the events.
 * Values are JSON-quoted, so that nothing inside one can begin a line or an escape sequence.
 */
export interface Log {
  /** One line per llm event. */
  event(name: string, roomCode: string, fields: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** A bug: the only place a stack is written. */
  bug(message: string, error: unknown): void;
}

/** Where lines go: those of a moment together, because a write costs more than the lines. */
export interface LineWriter {
  write(line: string): void;
  /** Now: the program may be about to end. */
  flush(): void;
}

const maxWaitingCharacters = 64 * 1024;

/** @param later - calls back after that moment */
export function createLineWriter(
  write: (lines: string) => void,
  later: (flush: () => void) => void,
): LineWriter {
  let waiting = "";
  const flush = (): void => {
    if (waiting === "") return;
    const lines = waiting;
    waiting = "";
    write(lines);
  };
  return {
    flush,
    write(line) {
      if (waiting === "") later(flush);
      waiting += line;
      if (waiting.length > maxWaitingCharacters) flush();
    },
  };
}

const redacted = new Set(["authHeaders", "password", "authorization", "participantToken"]);

/** @param flush - what was written leaves now: a bug may be the last thing a process says */
export function createLog(
  format: LogFormat,
  write: (line: string) => void,
  flush: () => void = () => undefined,
): Log {
  if (format === "silent") return { event() {}, warn() {}, bug() {} };
  if (format === "json") return jsonLog(write, flush);
  return {
    event: (name, roomCode, fields) => write(`${eventText(name, roomCode, fields)}\n`),
    warn: (message, fields = {}) => write(`[service] warning ${message}${formatFields(fields)}\n`),
    bug(message, error) {
      write(`[service] bug ${message} ${escapeUnprintable(JSON.stringify(describe(error)))}\n`);
      flush();
    },
  };
}

function jsonLog(write: (line: string) => void, flush: () => void): Log {
  const logger = pino({ base: null, redact: [...redacted] }, { write });
  return {
    // The line is the same text as without JSON, its values once more as fields.
    event: (name, roomCode, fields) =>
      logger.info({ roomCode, ...flat(fields) }, eventText(name, roomCode, fields)),
    warn: (message, fields = {}) => logger.warn(fields, message),
    bug(message, error) {
      logger.error({ error: describe(error) }, message);
      flush();
    },
  };
}

function eventText(name: string, roomCode: string, fields: LogFields): string {
  return `[service] ${name} roomCode=${quoted(roomCode)}${formatFields(fields)}`;
}

function formatFields(fields: LogFields): string {
  let text = "";
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined) continue;
    if (typeof value === "object" && value !== null) text += formatFields(value);
    else text += ` ${key}=${redacted.has(key) ? '"[redacted]"' : written(value)}`;
  }
  return text;
}

function written(value: string | number | null): string {
  return typeof value === "string" ? quoted(value) : String(value);
}

function flat(fields: LogFields): Record<string, unknown> {
  const entries = Object.entries(fields).flatMap(([key, value]) =>
    typeof value === "object" && value !== null ? Object.entries(value) : [[key, value]],
  );
  return Object.fromEntries(entries) as Record<string, unknown>;
}

/** Nothing to escape: what nearly every value is. */
const plain = /^[ !#-[\]-~]*$/;

function quoted(value: string): string {
  // JSON.stringify leaves C1 controls and bidi characters as they are; a terminal does not.
  return plain.test(value) ? `"${value}"` : escapeUnprintable(JSON.stringify(value));
}

function escapeUnprintable(text: string): string {
  return text.replace(
    /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
