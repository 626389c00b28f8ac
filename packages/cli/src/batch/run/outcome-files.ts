import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "@roomhub/hub";
import { pause, type World } from "@roomhub/protocol";
import { written } from "./batch-error.ts";
import { customIdOf } from "./outcome-line.ts";
import { readLines } from "./line-reader.ts";

/** Lines are on the disk at most so long after they are written; those of this time are synced together. */
const groupMs = 100;

/** A line is a little longer than the response in it. */
const maxOutcomeBytes = 80 * 1024 * 1024;

export interface OutcomePaths {
  /** of successful responses */
  output: string;
  /** of all other requests */
  errors: string;
}

export type OutcomeKind = keyof OutcomePaths;

/** The two files that say what became of the requests of a batch, readable by this user only. Lines are only ever added. */
export interface OutcomeFiles {
  /** Resolves when the line is on the disk. @throws BatchError, after which nothing more is written */
  add: (kind: OutcomeKind, line: string) => Promise<void>;
  /** After the lines that were added are on the disk. */
  close: () => Promise<unknown>;
}

/**
 * Opens the files; one that is missing is made for its first line. A last line that was cut when its process or machine
 * ended is removed.
 *
 * @param onLine - called with the `custom_id` of each line that is there
 * @throws Error for a file with something else in it, NodeJS.ErrnoException
 */
export async function openOutcomes(
  paths: OutcomePaths,
  world: World,
  onLine: (customId: string, kind: OutcomeKind) => void,
): Promise<OutcomeFiles> {
  await repair(paths.output, (id) => onLine(id, "output"));
  await repair(paths.errors, (id) => onLine(id, "errors"));
  const output = new AppendedFile(paths.output, world);
  const errors = new AppendedFile(paths.errors, world);
  return {
    add: (kind, line) => (kind === "output" ? output : errors).add(line),
    close: () => Promise.all([output.close(), errors.close()]),
  };
}

async function repair(path: string, onId: (id: string) => void): Promise<void> {
  let file: FileHandle;
  try {
    file = await open(path, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  try {
    const wholeBytes = await readOutcomes(file, path, onId);
    await file.truncate(wholeBytes);
    // What a killed process wrote counts as finished from now on.
    await file.sync();
  } finally {
    await file.close();
  }
}

/** @returns where the last whole line ends */
async function readOutcomes(
  file: FileHandle,
  path: string,
  onId: (id: string) => void,
): Promise<number> {
  let wholeBytes = 0;
  let isCut = false;
  let failure: Error | undefined;
  await readLines(file, {
    maxLineBytes: maxOutcomeBytes,
    onLine: ({ bytes, offset, isEnded }) => {
      // After a power cut there may be zeros in the place of what was not yet synced.
      isCut ||= !isEnded || bytes?.includes(0) === true;
      if (isCut || failure !== undefined) return;
      const id = bytes === undefined ? undefined : customIdOf(bytes.toString());
      if (id === undefined) failure = new Error(`${path} has something else than results in it`);
      else onId(id);
      wholeBytes = offset + (bytes?.length ?? 0) + 1;
    },
  });
  if (failure !== undefined) throw failure;
  return wholeBytes;
}

async function openToAppend(path: string): Promise<FileHandle> {
  const file = await open(path, "a", 0o600);
  await syncDirectory(dirname(path));
  return file;
}

/** A file to which lines are added, in groups that are synced together. */
class AppendedFile {
  readonly #path: string;
  readonly #world: World;
  readonly #closing = new AbortController();
  #file: FileHandle | undefined;
  #lines: string[] = [];
  /** the group that lines are added to now */
  #group: Promise<void> | undefined;
  /** the group before it */
  #last: Promise<void> = Promise.resolve();
  #failure: Promise<never> | undefined;

  constructor(path: string, world: World) {
    this.#path = path;
    this.#world = world;
  }

  add(line: string): Promise<void> {
    if (this.#failure !== undefined) return this.#failure;
    this.#lines.push(line);
    this.#group ??= this.#writeGroup();
    return this.#group;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    try {
      await this.#last;
    } finally {
      await this.#file?.close();
    }
  }

  /** Groups follow one another. A write that failed may have left a part of a line: nothing may come after it. */
  #writeGroup(): Promise<void> {
    const before = this.#last;
    const group = (async () => {
      await Promise.all([before, pause(this.#world, groupMs, this.#closing.signal)]);
      const data = this.#lines.join("");
      this.#lines = [];
      this.#group = undefined;
      await written(this.#path, this.#write(data));
    })();
    this.#last = group;
    group.catch((error: unknown) => {
      this.#failure ??= Promise.reject(error);
      this.#failure.catch(() => undefined);
    });
    return group;
  }

  async #write(data: string): Promise<void> {
    this.#file ??= await openToAppend(this.#path);
    await this.#file.appendFile(data);
    await this.#file.datasync();
  }
}
