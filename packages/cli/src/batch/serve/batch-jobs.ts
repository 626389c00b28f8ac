import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { lockFile } from "@roomhub/hub";
import { pause } from "@roomhub/protocol";
import { ApiError } from "./api-error.ts";
import { BatchJob, type JobOptions } from "./batch-job.ts";
import { BatchRecord } from "./batch-record.ts";
import { FileShelf, newestFirst, recordsIn, StoredFile } from "./file-shelf.ts";

/** Another process has the folder. */
class FolderInUseError extends Error {
  override readonly name = "FolderInUseError";
}

export type BatchFolder = Awaited<ReturnType<typeof openBatchFolder>>;

/**
 * The files and batches of a folder, which is theirs alone and readable by this user only. Until it is closed no other
 * process can open it.
 *
 * @param path - made when it is missing
 * @throws FolderInUseError, NodeJS.ErrnoException, Error for a record that cannot be read
 */
export async function openBatchFolder(
  path: string,
  options: Omit<JobsOptions, "files" | "folder">,
) {
  const root = resolve(path);
  await mkdir(root, { recursive: true, mode: 0o700 });
  const lock = await lockFile(join(root, "batches"), (pid, lockPath) => {
    const message = `Process ${pid} serves the batches in ${root}; if it is no roomhub, delete ${lockPath}`;
    return new FolderInUseError(message);
  });
  try {
    const shelf = join(root, "files");
    const stored = await recordsIn(shelf, /^file-\w+\.json$/, StoredFile);
    const files = new FileShelf(shelf, options.world, stored);
    const folder = join(root, "batches");
    const records = await recordsIn(folder, /^batch_\w+\.json$/, BatchRecord);
    const jobs = new BatchJobs({ ...options, files, folder }, records);
    await files.sweep((id) => jobs.isUsing(id));
    return {
      ...{ files, jobs },
      /** Stops the batches, and lets another process have the folder. */
      async close() {
        await jobs.stop();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Batches that are open at once; each million lines need 30 MB of memory. The others wait, the oldest first. */
const maxOpen = 8;
/** What keeps a batch from continuing is looked at again after this time. */
const obstacleMs = 60_000;

export interface JobsOptions extends JobOptions {
  /** what keeps a batch from continuing for now */
  onObstacle: (record: BatchRecord, problem: string) => void;
}

export type NewBatch = Pick<
  BatchRecord,
  "endpoint" | "inputFileId" | "completionWindow" | "metadata"
>;

/** The batches of a folder. */
export class BatchJobs {
  readonly #options: JobsOptions;
  /** by id, oldest first */
  readonly #jobs: Map<string, BatchJob>;
  readonly #stop = new AbortController();
  readonly #running = new Map<BatchJob, Promise<void>>();

  /** Nothing runs before {@link start}. @param records - from {@link recordsIn} */
  constructor(options: JobsOptions, records: readonly BatchRecord[]) {
    this.#options = options;
    const oldestFirst = newestFirst(records).toReversed();
    this.#jobs = new Map(oldestFirst.map((record) => [record.id, new BatchJob(record, options)]));
  }

  /** Batches that have not ended continue. */
  start(): void {
    for (const job of this.#jobs.values()) {
      if (this.#running.size >= maxOpen || this.#stop.signal.aborted) return;
      if (job.hasEnded || this.#running.has(job)) continue;
      const running = this.#run(job).finally(() => {
        this.#running.delete(job);
        this.start();
      });
      this.#running.set(job, running);
    }
  }

  /** Requests that run may end within a few seconds. The batches continue after a restart. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  /** Newest first. */
  list(): BatchRecord[] {
    return newestFirst([...this.#jobs.values()].map(({ record }) => record));
  }

  /** @throws ApiError 404 */
  get(id: string): BatchRecord {
    return this.#job(id).record;
  }

  isUsing(fileId: string): boolean {
    return [...this.#jobs.values()].some((job) => job.uses(fileId));
  }

  /** @param windowMs - after which the batch ends @returns when the batch outlives a power cut */
  async create(about: NewBatch, windowMs: number): Promise<BatchRecord> {
    const { world, files } = this.#options;
    const createdMs = world.wallMs();
    const job = new BatchJob(
      {
        ...{ version: 1, id: `batch_${world.randomUUID().replaceAll("-", "")}`, ...about },
        ...{ status: "validating", createdMs, expiresMs: createdMs + windowMs, at: {} },
        counts: { total: 0, completed: 0, failed: 0 },
        ...{ outputFileId: files.newId(), errorFileId: files.newId() },
        ...{ hasOutput: false, hasErrors: false, errors: [] },
      },
      this.#options,
    );
    const { record } = job;
    // From here on its input cannot be deleted.
    this.#jobs.set(record.id, job);
    try {
      await job.save();
    } catch (error) {
      this.#jobs.delete(record.id);
      throw error;
    }
    this.#options.onStatus(record);
    this.start();
    return record;
  }

  /** @throws ApiError 404 or 409 */
  async cancel(id: string): Promise<BatchRecord> {
    const job = this.#job(id);
    await job.cancel();
    if (!this.#running.has(job) && job.wasNeverSent && !job.hasEnded) await job.endAsCancelled();
    return job.record;
  }

  #job(id: string): BatchJob {
    const job = this.#jobs.get(id);
    if (job !== undefined) return job;
    throw new ApiError({
      ...{ status: 404, code: "batch_not_found", param: "id" },
      message: `There is no batch ${JSON.stringify(id)}.`,
      hint: "list those there are: GET /v1/batches",
    });
  }

  async #run(job: BatchJob): Promise<void> {
    const stop = this.#stop.signal;
    while (!job.hasEnded && !stop.aborted) {
      const problem = await job
        .advance(stop)
        .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
      if (problem === undefined) continue;
      this.#options.onObstacle(job.record, problem);
      const woken = job.cancelled.aborted ? stop : AbortSignal.any([stop, job.cancelled]);
      await pause(this.#options.world, obstacleMs, woken);
    }
  }
}
