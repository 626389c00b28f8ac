import { rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@roomhub/hub";
import type { World } from "@roomhub/protocol";
import { BatchError } from "../run/batch-error.ts";
import { type Batch, type BatchPaths, openBatch } from "../run/open-batch.ts";
import { runBatch, type RunOptions } from "../run/run-batch.ts";
import { ApiError } from "./api-error.ts";
import { type BatchRecord, type BatchStatus, endedStatuses, inStatus } from "./batch-record.ts";
import { type FileShelf, sizeOf } from "./file-shelf.ts";

export interface JobOptions {
  /** of the records of batches */
  folder: string;
  files: FileShelf;
  world: World;
  room: RunOptions["room"];
  /** a batch has another status; called when that is on the disk */
  onStatus: (record: BatchRecord) => void;
}

const maxRequests = 1_000_000;
/** So many wrong lines are shown of an input. */
const maxProblems = 100;
/** How often a request is sent that is lost while it runs. */
const maxAttempts = 5;
/** Results that wait for the disk at once. */
const recordsAtOnce = 10_000;

/** A batch of the API, from its creation to its end, across restarts. */
export class BatchJob {
  readonly #options: JobOptions;
  readonly #cancelled = new AbortController();
  #record: BatchRecord;
  #saved: Promise<unknown> = Promise.resolve();
  #open: Batch | undefined;

  constructor(record: BatchRecord, options: JobOptions) {
    this.#record = record;
    this.#options = options;
  }

  get record(): BatchRecord {
    const { total, completed, failed } = this.#open?.counts ?? this.#record.counts;
    return { ...this.#record, counts: { total, completed, failed } };
  }

  get hasEnded(): boolean {
    return endedStatuses.has(this.#record.status);
  }

  /** Aborts when its caller cancels it. */
  get cancelled(): AbortSignal {
    return this.#cancelled.signal;
  }

  /** Whether it reads or writes a file of this id. */
  uses(fileId: string): boolean {
    const { inputFileId, outputFileId, errorFileId } = this.#record;
    return !this.hasEnded && [inputFileId, outputFileId, errorFileId].includes(fileId);
  }

  /** Changes one after the other. Resolves when the change is on the disk, and visible from then on. */
  save(change: (record: BatchRecord) => BatchRecord = (record) => record): Promise<void> {
    const saving = this.#saved.then(() => this.#write(change));
    this.#saved = saving.catch(() => undefined);
    return saving;
  }

  async #write(change: (record: BatchRecord) => BatchRecord): Promise<void> {
    const { folder, onStatus } = this.#options;
    const before = this.#record;
    const next = change(this.record);
    await replaceFile(join(folder, `${next.id}.json`), JSON.stringify(next));
    this.#record = next;
    if (next.status !== before.status) onStatus(next);
  }

  /** @throws ApiError 409 for one that has ended, or is about to */
  async cancel(): Promise<void> {
    await this.save((record) => {
      const { status } = record;
      if (status === "cancelling" || status === "cancelled") return record;
      if (status === "validating" || status === "in_progress") {
        return this.#now(record, "cancelling");
      }
      throw new ApiError({
        ...{ status: 409, code: "batch_not_cancellable" },
        message: `A batch with the status ${status} cannot be cancelled.`,
        hint: "its results are in its output and error file",
      });
    });
    this.#cancelled.abort();
  }

  /** Nothing was sent: there is no file to finish. */
  get wasNeverSent(): boolean {
    return this.#record.at.in_progress === undefined;
  }

  async endAsCancelled(): Promise<undefined> {
    await this.save((record) => this.#now(record, "cancelled"));
  }

  /**
   * Takes it as far as it goes now.
   *
   * @param stop - of this process: the batch continues after a restart
   * @returns why it has not ended, when neither its caller nor this process stopped it
   * @throws Error when the disk fails; it can be tried again
   */
  async advance(stop: AbortSignal): Promise<string | undefined> {
    const { status } = this.#record;
    if (status === "finalizing") return this.#end("completed");
    if (status === "cancelling" && this.wasNeverSent) return this.endAsCancelled();
    const batch = await this.#opened(stop);
    if (batch === undefined) return undefined;
    this.#open = batch;
    try {
      return await this.#finish(batch, stop);
    } finally {
      const { counts } = this.record;
      this.#open = undefined;
      this.#record = { ...this.#record, counts };
      await batch.close();
      if (this.hasEnded) await rm(this.#paths.journal, { force: true });
    }
  }

  /** @returns undefined when its input cannot be sent, or it is stopped */
  async #opened(stop: AbortSignal): Promise<Batch | undefined> {
    const isCancelling = this.#record.status === "cancelling";
    const signal = isCancelling ? stop : AbortSignal.any([stop, this.cancelled]);
    const { world } = this.#options;
    try {
      return await openBatch(this.#paths, { world, signal, maxProblems, maxRequests });
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof BatchError)) throw error;
      if (error.kind === "in-use" || error.kind === "not-written") throw error;
      const { problems, message, hint } = error;
      await this.#fail(
        problems.length > 0
          ? problems.map(({ code, line, problem }) => ({
              ...{ code, line, message: `Line ${line} ${problem}.`, param: null },
            }))
          : [{ code: error.kind, line: null, message: `${message}. Next: ${hint}.`, param: null }],
      );
      return undefined;
    }
  }

  async #finish(batch: Batch, stop: AbortSignal): Promise<string | undefined> {
    if (this.#record.status === "validating") {
      const { input } = batch;
      const { endpoint } = this.#record;
      if (input.url !== endpoint) {
        const message = `The requests are for ${input.url}, and the batch is for ${endpoint}.`;
        await this.#fail([{ code: "mismatched_endpoint", line: null, message, param: "endpoint" }]);
        return undefined;
      }
      const [model, ...others] = input.models;
      const named = model === undefined || model === "" || others.length > 0 ? {} : { model };
      await this.save((record) =>
        record.status === "validating" ? this.#now(record, "in_progress", named) : record,
      );
      if (this.wasNeverSent) return this.endAsCancelled();
    }
    if (this.#record.status === "in_progress") {
      const { isOver, obstacle } = await this.#send(batch, stop);
      if (!isOver) return obstacle;
    }
    const { status } = this.#record;
    const { total, completed, failed } = batch.counts;
    const isCancelled = status === "cancelling";
    if (isCancelled || completed + failed < total) {
      const ended = isCancelled ? "cancelled" : "expired";
      const what = isCancelled ? "was cancelled" : "expired";
      const message = `The batch ${what} before this request had a result.`;
      await recordRest(batch, `batch_${ended}`, message);
      return this.#end(ended);
    }
    await this.save((record) => this.#now(record, "finalizing"));
    return this.#end("completed");
  }

  /** @returns whether nothing more is to be sent; if not, perhaps why nothing can be now */
  async #send(batch: Batch, stop: AbortSignal): Promise<{ isOver: boolean; obstacle?: string }> {
    const { world, room } = this.#options;
    const end = await runBatch(batch, {
      ...{ world, room, concurrency: "auto", maxAttempts, untilMs: this.#record.expiresMs },
      signal: AbortSignal.any([stop, this.cancelled]),
    });
    if (end.kind === "hopeless") {
      if (end.code !== "room_not_found") return { isOver: false, obstacle: end.reason };
      await this.#publish();
      const error = { code: end.code, line: null, message: end.reason, param: null };
      await this.#fail([error]);
      return { isOver: false };
    }
    const isInterrupted = end.kind === "stopped" && end.why === "signal";
    if (!isInterrupted || this.#record.status === "cancelling") return { isOver: true };
    await this.save();
    return { isOver: false };
  }

  async #fail(errors: BatchRecord["errors"]): Promise<void> {
    await this.save((record) => this.#now(record, "failed", { errors }));
  }

  async #end(status: BatchStatus): Promise<undefined> {
    await this.#publish();
    await this.save((record) => this.#now(record, status));
  }

  /** Makes files of the results. */
  async #publish(): Promise<void> {
    const { id, outputFileId, errorFileId } = this.#record;
    const hasOutput = await this.#publishFile(outputFileId, `${id}_output.jsonl`);
    const hasErrors = await this.#publishFile(errorFileId, `${id}_error.jsonl`);
    await this.save((record) => ({ ...record, hasOutput, hasErrors }));
  }

  async #publishFile(id: string, filename: string): Promise<boolean> {
    const { files } = this.#options;
    if ((await sizeOf(files.pathOf(id))) === 0) return false;
    await files.publish({ id, filename, purpose: "batch_output" });
    return true;
  }

  #now(record: BatchRecord, status: BatchStatus, more?: Partial<BatchRecord>): BatchRecord {
    return inStatus(record, status, this.#options.world.wallMs(), more);
  }

  get #paths(): BatchPaths {
    const { files, folder } = this.#options;
    const { id, inputFileId, outputFileId, errorFileId } = this.#record;
    return {
      input: files.pathOf(inputFileId),
      output: files.pathOf(outputFileId),
      errors: files.pathOf(errorFileId),
      journal: join(folder, `${id}.journal.json`),
    };
  }
}

/** Every request has a line: those without a result get this error. */
async function recordRest(batch: Batch, code: string, message: string): Promise<void> {
  let writing: Promise<void>[] = [];
  for (let number = 0; number < batch.input.count; number++) {
    if (batch.isFinished(number)) continue;
    const { customId } = await batch.input.read(number);
    writing.push(batch.record(number, customId, "errors", { kind: "error", code, message }));
    if (writing.length < recordsAtOnce) continue;
    await Promise.all(writing);
    writing = [];
  }
  await Promise.all(writing);
}
