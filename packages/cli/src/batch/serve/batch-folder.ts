import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { lockFile } from "@roomhub/hub";
import { BatchJobs, type JobsOptions } from "./batch-jobs.ts";
import { FileShelf } from "./file-shelf.ts";

/** Another process has the folder. */
class FolderInUseError extends Error {
  override readonly name = "FolderInUseError";
}

export interface BatchFolder {
  files: FileShelf;
  jobs: BatchJobs;
  /** Stops the batches, and lets another process have the folder. */
  close: () => Promise<void>;
}

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
): Promise<BatchFolder> {
  const root = resolve(path);
  await mkdir(root, { recursive: true, mode: 0o700 });
  const lock = await lockFile(join(root, "batches"), (pid, lockPath) => {
    const message = `Process ${pid} serves the batches in ${root}; if it is no roomhub, delete ${lockPath}`;
    return new FolderInUseError(message);
  });
  try {
    const files = await FileShelf.open(join(root, "files"), options.world);
    const jobs = await BatchJobs.open({ ...options, files, folder: join(root, "batches") });
    await files.sweep((id) => jobs.isUsing(id));
    return {
      ...{ files, jobs },
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
