import { parseObject } from "@roomhub/protocol";
import {
  closeSync,
  createReadStream,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { basename, dirname, extname, join } from "node:path";

export interface RecordingOptions {
  path: string;
  /** A file is replaced before it gets longer than this, unless its first lines alone are longer. */
  maxBytes: number;
}

/** Where the events of a room are kept. */
export interface Recording {
  /** id of the last event that is kept; undefined for a new recording */
  readonly lastId: string | undefined;
  /** @param day - `2026-01-31`, of the events in these lines; undefined to stay with the day of the file */
  write(lines: string, day: string | undefined): void;
  /** Returns when everything written so far is on the disk. */
  flush(): void;
  close(): Promise<void>;
}

/** Longer than any event: specs and config are at most 16 KiB each, and the SDK accepts 1 MiB. */
const tailBytes = 4 * 1024 * 1024;
const dayForm = /^\d{4}-\d{2}-\d{2}$/;

/**
 * A recording in a file, readable by this user only. A full file, or one of an earlier day, is renamed: `room.ndjson` to
 * `room.2026-01-31.0001.ndjson`. A line that a crash left incomplete is removed. One process has the file until it closes it.
 *
 * Writes are synchronous, so a process that is killed loses no event that it received.
 *
 * @throws NodeJS.ErrnoException, or Error when the file contains something else or is in use
 */
export async function openRecording({ path, maxBytes }: RecordingOptions): Promise<Recording> {
  // Loaded here: other commands than `record` do not need it.
  const { lockFile } = await import("@roomhub/hub");
  const lock = await lockFile(path, (pid, lockPath) => inUse(path, lockPath, pid));
  let opened: ReturnType<typeof openRepaired>;
  try {
    opened = openRepaired(path);
  } catch (error) {
    await lock.release();
    throw error;
  }
  const { lastId } = opened;
  let { bytes, day: fileDay } = opened;
  let file: number | undefined = opened.file;

  /** Closes the file once: its number may be that of another file then. */
  const end = () => {
    if (file === undefined) return;
    const ended = file;
    file = undefined;
    try {
      fsyncSync(ended);
    } finally {
      closeSync(ended);
    }
  };
  const replace = (day: string | undefined) => {
    end();
    renameSync(path, renamedPath(path, fileDay ?? day ?? "0000-00-00"));
    bytes = 0;
    fileDay = undefined;
  };

  return {
    lastId,
    write(lines, day) {
      const data = Buffer.from(lines);
      // It becomes part of a file name.
      const ofDay = day !== undefined && dayForm.test(day) ? day : fileDay;
      const isOtherDay = fileDay !== undefined && ofDay !== fileDay;
      if (bytes > 0 && (bytes + data.length > maxBytes || isOtherDay)) replace(ofDay);
      file ??= openSync(path, "a+", 0o600);
      writeAll(file, data);
      bytes += data.length;
      fileDay ??= ofDay;
    },
    flush: () => {
      if (file !== undefined) fsyncSync(file);
    },
    async close() {
      try {
        end();
      } finally {
        await lock.release();
      }
    },
  };
}

function inUse(path: string, lockPath: string, pid: number): Error {
  return new Error(
    `${path} is being written by process ${pid}. If that is no roomhub record, delete ${lockPath}`,
  );
}

function openRepaired(path: string) {
  const file = openSync(path, "a+", 0o600);
  try {
    const last = repair(file, path);
    const lastId = last?.id ?? lastIdOfRenamed(path);
    return { file, bytes: fstatSync(file).size, day: last?.day, lastId };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** @returns the last record. @throws Error when the file is not a recording; it stays unchanged */
function repair(file: number, path: string) {
  const { size } = fstatSync(file);
  if (size === 0) return undefined;
  const tail = tailOf(file, size);
  const wholeBytes = tail.lastIndexOf("\n") + 1;
  const last = lastRecordIn(tail.subarray(0, wholeBytes).toString());
  // The only line may be the incomplete one.
  const isBegun = wholeBytes === 0 && size < tailBytes && isStartOfRecord(tail.toString());
  if (last === undefined && !isBegun) {
    throw new Error(`${path} contains something else than a recording`);
  }
  // By its path, as Windows truncates no file that is open for appending.
  if (wholeBytes < tail.length) truncateSync(path, size - tail.length + wholeBytes);
  return last;
}

function isStartOfRecord(text: string): boolean {
  return ['{"id":', '{"gap":'].some((start) => text.startsWith(start) || start.startsWith(text));
}

function tailOf(file: number, size: number): Buffer {
  const tail = Buffer.alloc(Math.min(size, tailBytes));
  let filled = 0;
  while (filled < tail.length) {
    const start = size - tail.length + filled;
    const read = readSync(file, tail, filled, tail.length - filled, start);
    if (read === 0) break;
    filled += read;
  }
  return tail.subarray(0, filled);
}

/** Needed when a process ended between renaming a file and writing the next one. */
function lastIdOfRenamed(path: string): string | undefined {
  const newest = renamedFiles(path).at(-1);
  if (newest === undefined) return undefined;
  const file = openSync(join(dirname(path), newest), "r");
  try {
    return lastRecordIn(tailOf(file, fstatSync(file).size).toString())?.id;
  } finally {
    closeSync(file);
  }
}

/** Names, oldest first. */
function renamedFiles(path: string): string[] {
  const extension = extname(path);
  const stem = `${basename(path, extension)}.`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(stem) && name.endsWith(extension))
    .filter((name) =>
      /^\d{4}-\d{2}-\d{2}\.\d{4,}$/.test(name.slice(stem.length, name.length - extension.length)),
    )
    .sort((one, other) => one.length - other.length || (one < other ? -1 : 1));
}

function renamedPath(path: string, day: string): string {
  const extension = extname(path);
  const stem = `${basename(path, extension)}.${day}.`;
  const ofDay = renamedFiles(path).filter((name) => name.startsWith(stem));
  const numbers = ofDay.map((name) => Number(name.slice(stem.length).split(".")[0]));
  const next = Math.max(0, ...numbers) + 1;
  return join(dirname(path), `${stem}${String(next).padStart(4, "0")}${extension}`);
}

function writeAll(file: number, data: Buffer): void {
  let written = 0;
  while (written < data.length) written += writeSync(file, data, written);
}

/** The last event in a recording, with nothing in it where there are only gaps. */
interface LastRecord {
  id: string | undefined;
  /** `2026-01-31`, as the event's time begins */
  day: string | undefined;
}

/**
 * @param text - whole lines, of which the first may have lost its beginning
 * @returns undefined for something else than a recording
 */
function lastRecordIn(text: string): LastRecord | undefined {
  let end = text.length;
  let record: LastRecord | undefined;
  do {
    const start = text.lastIndexOf("\n", end - 2) + 1;
    record = parseRecord(text.slice(start, end));
    end = start;
  } while (end > 0 && record !== undefined && record.id === undefined);
  return record;
}

function parseRecord(line: string): LastRecord | undefined {
  const { id, time, gap } = parseObject(line) ?? {};
  if (typeof gap === "object") return { id: undefined, day: undefined };
  if (typeof id !== "string" || typeof time !== "string") return undefined;
  return { id, day: time.slice(0, 10) };
}

const maxCharacters = 4 * 1024 * 1024;

/**
 * The lines of a file that may be longer than memory.
 *
 * @returns lines without their ends; null for one of more than {@link maxCharacters}
 * @throws NodeJS.ErrnoException
 */
export async function* readLines(path: string): AsyncIterable<string | null> {
  let rest = "";
  let isTooLong = false;
  for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
    const parts = (rest + String(chunk)).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      yield isTooLong || line.length > maxCharacters ? null : line;
      isTooLong = false;
    }
    if (rest.length > maxCharacters) {
      isTooLong = true;
      rest = "";
    }
  }
  if (isTooLong) yield null;
  else if (rest !== "") yield rest;
}
