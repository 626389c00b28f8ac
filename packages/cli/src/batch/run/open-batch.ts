import { stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { lockFile, readIfThere, replaceFile } from "@roomhub/hub";
import { parseObject, type World } from "@roomhub/protocol";
import { z } from "zod";
import { BatchError, written } from "./batch-error.ts";
import { type BatchInput, checkInput, type CheckOptions } from "./batch-input.ts";
import { openOutcomes, type OutcomeFiles, type OutcomePaths } from "./outcome-files.ts";
import { type Outcome, outcomeLine } from "./outcome-line.ts";

export interface BatchPaths extends OutcomePaths {
  input: string;
  journal: string;
}

/**
 * Checks the input of a batch, and takes up what its files say is finished. Until it is closed no other process can open
 * it. docs/reference/batch.md
 *
 * @throws BatchError, NodeJS.ErrnoException, the signal's reason
 */
export async function openBatch(
  paths: BatchPaths,
  { world, ...check }: CheckOptions & { world: World },
): Promise<Batch> {
  const lock = await lockFile(paths.journal, (pid, lockPath) => inUse(paths, pid, lockPath));
  let input: BatchInput | undefined;
  try {
    input = await validInput(paths.input, check);
    const journal = await journalOf(paths, input);
    const items = new Items(input);
    const outcomes = await openOutcomes(paths, world, (id, kind) =>
      items.take(id, paths[kind], kind),
    );
    // Requests are known by their numbers from now on.
    input.forgetIds();
    return new Batch(paths, input, {
      world,
      items,
      outcomes,
      journal,
      release: () => lock.release(),
    });
  } catch (error) {
    await input?.close();
    await lock.release();
    throw error;
  }
}

/** @throws BatchError with the first problems of an input that cannot be sent */
export async function validInput(path: string, check: CheckOptions): Promise<BatchInput> {
  const { input, problems, problemCount } = await checkInput(path, check);
  if (input !== undefined) return input;
  const count = problemCount === 1 ? "1 problem" : `${problemCount} problems`;
  throw new BatchError(
    "invalid-input",
    `${path} has ${count}. Nothing was sent`,
    'each line must be {"custom_id", "method": "POST", "url", "body"}:',
    problems,
  );
}

function inUse({ output }: BatchPaths, pid: number, lockPath: string): BatchError {
  return new BatchError(
    "in-use",
    `Process ${pid} is writing to ${output}`,
    `wait for it to end; if it is no roomhub, delete ${lockPath}`,
  );
}

/** The journal of the batch before, or a new one. */
async function journalOf(paths: BatchPaths, input: BatchInput): Promise<Journal> {
  const own = { bytes: input.bytes, sha256: input.sha256 };
  const errors = relative(dirname(paths.journal), paths.errors);
  const before = await readJournal(paths.journal);
  if (before === undefined) {
    await mustBeNew(paths.output);
    await mustBeNew(paths.errors);
    const journal: Journal = { version: 1, input: own, errors, seenModels: [] };
    await writeJournal(paths.journal, journal);
    return journal;
  }
  if (before.input.sha256 !== own.sha256 || before.input.bytes !== own.bytes) {
    throw new BatchError(
      "other-input",
      `${paths.input} has changed since ${paths.output} was begun`,
      `restore it, or begin anew with another --output; to start over, delete ${paths.journal} and both files of results`,
    );
  }
  if (before.errors !== errors) {
    throw new BatchError(
      "other-files",
      `The batch of ${paths.output} was begun with other files`,
      `continue with --errors ${join(dirname(paths.journal), before.errors)}`,
    );
  }
  return before;
}

/** @throws BatchError */
async function mustBeNew(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.size === 0) return;
  throw new BatchError(
    "other-files",
    `${path} exists already, and not from this batch`,
    "delete it, or name other files with --output and --errors",
  );
}

/** Which requests of a batch have their results. */
class Items {
  readonly #input: BatchInput;
  readonly #isFinished: Uint8Array;
  readonly counts = { total: 0, completed: 0, failed: 0 };

  constructor(input: BatchInput) {
    this.#input = input;
    this.#isFinished = new Uint8Array(input.count);
    this.counts.total = input.count;
  }

  isFinished(number: number): boolean {
    return this.#isFinished[number] === 1;
  }

  finish(number: number, kind: keyof OutcomePaths): void {
    this.#isFinished[number] = 1;
    this.counts[kind === "output" ? "completed" : "failed"]++;
  }

  /** @throws BatchError for a result that is not one of this batch, or a second one */
  take(customId: string, path: string, kind: keyof OutcomePaths): void {
    const number = this.#input.numberOf(customId);
    if (number === undefined || this.isFinished(number)) {
      throw new BatchError(
        "other-files",
        `${path} has ${number === undefined ? "a result of another batch" : "a second result"}: custom_id ${JSON.stringify(customId)}`,
        "remove the line, or name another file with --output or --errors",
      );
    }
    this.finish(number, kind);
  }
}

interface BatchParts {
  world: World;
  items: Items;
  outcomes: OutcomeFiles;
  journal: Journal;
  release: () => Promise<void>;
}

/** An open batch: its requests, and what became of each. */
export class Batch {
  readonly paths: BatchPaths;
  readonly input: BatchInput;
  readonly #parts: BatchParts;
  readonly #seen: Set<string>;
  #saved: Promise<void> = Promise.resolve();

  constructor(paths: BatchPaths, input: BatchInput, parts: BatchParts) {
    this.paths = paths;
    this.input = input;
    this.#parts = parts;
    this.#seen = new Set(parts.journal.seenModels);
  }

  /** Of requests whose results are on the disk. */
  get counts(): Readonly<{ total: number; completed: number; failed: number }> {
    return this.#parts.items.counts;
  }

  isFinished(number: number): boolean {
    return this.#parts.items.isFinished(number);
  }

  /** Whether a value of `model` was in the room once. */
  hasSeen(model: string): boolean {
    return this.#seen.has(model);
  }

  /** Remembers values of `model` of this batch that are in the room, also after a restart. */
  see(models: Iterable<string>): Promise<void> {
    const before = this.#seen.size;
    for (const model of models) if (this.input.models.includes(model)) this.#seen.add(model);
    if (this.#seen.size > before) {
      const journal = { ...this.#parts.journal, seenModels: [...this.#seen] };
      this.#saved = this.#saved.then(() => writeJournal(this.paths.journal, journal));
    }
    return this.#saved;
  }

  /** Resolves when the result of a request is on the disk. Each request has one. */
  async record(
    number: number,
    customId: string,
    kind: keyof OutcomePaths,
    outcome: Outcome,
  ): Promise<void> {
    const { world, outcomes, items } = this.#parts;
    const id = `batch_req_${world.randomUUID().replaceAll("-", "")}`;
    await outcomes.add(kind, outcomeLine(id, customId, outcome));
    items.finish(number, kind);
  }

  /** Call it when nothing is sent or recorded any more. */
  async close(): Promise<void> {
    try {
      await this.#parts.outcomes.close();
    } finally {
      await this.input.close();
      await this.#parts.release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** What a batch must know after a restart beside its results. */
const Journal = z.object({
  version: z.literal(1),
  input: z.object({ bytes: z.int(), sha256: z.string() }),
  /** path of the file of errors, relative to the folder of this one */
  errors: z.string(),
  /** values of `model` that were in the room once */
  seenModels: z.array(z.string()),
});
type Journal = z.infer<typeof Journal>;

/** @returns undefined when there is none @throws Error when the file is something else */
async function readJournal(path: string): Promise<Journal | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  const { data } = Journal.safeParse(parseObject(text));
  if (data === undefined) throw new Error(`${path} is not the journal of a batch`);
  return data;
}

/** A reader finds the old one or the new one, also after a power cut. @throws BatchError */
function writeJournal(path: string, journal: Journal): Promise<void> {
  return written(path, replaceFile(path, `${JSON.stringify(journal, undefined, 2)}\n`));
}
