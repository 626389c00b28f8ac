import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile, syncDirectory } from "@roomhub/hub";
import { parseObject, type World } from "@roomhub/protocol";
import { z } from "zod";
import { ApiError } from "./api-error.ts";

export const StoredFile = z.object({
  version: z.literal(1),
  id: z.string(),
  bytes: z.int(),
  /** epoch ms */
  createdMs: z.int(),
  filename: z.string(),
  purpose: z.enum(["batch", "batch_output"]),
});
/** A file of the API: an input that was uploaded, or results. */
export type StoredFile = z.infer<typeof StoredFile>;

/**
 * The files of a folder, each with a record that describes it. Files without a record do not count: they are uploads that
 * were cut off, or results that are still being written.
 */
export class FileShelf {
  readonly #folder: string;
  readonly #world: World;
  readonly #files: Map<string, StoredFile>;

  /** @param files - from {@link recordsIn} */
  constructor(folder: string, world: World, files: readonly StoredFile[]) {
    this.#folder = folder;
    this.#world = world;
    this.#files = new Map(files.map((file) => [file.id, file]));
  }

  newId(): string {
    return `file-${this.#world.randomUUID().replaceAll("-", "")}`;
  }

  pathOf(id: string): string {
    return join(this.#folder, `${id}.jsonl`);
  }

  /** @throws ApiError 404 */
  get(id: string): StoredFile {
    const file = this.#files.get(id);
    if (file !== undefined) return file;
    throw new ApiError({
      ...{ status: 404, code: "file_not_found", param: "id" },
      message: `There is no file ${JSON.stringify(id)}.`,
      hint: "list those there are: GET /v1/files",
    });
  }

  /** Newest first. */
  list(): StoredFile[] {
    return newestFirst(this.#files.values());
  }

  /** Makes a file of what is at its path. Resolves when it outlives a power cut. */
  async publish(about: Pick<StoredFile, "id" | "filename" | "purpose">): Promise<StoredFile> {
    const before = this.#files.get(about.id);
    if (before !== undefined) return before;
    // Windows syncs only what is open for writing.
    const content = await open(this.pathOf(about.id), "r+");
    try {
      await content.sync();
      const { size: bytes } = await content.stat();
      const file = { version: 1 as const, ...about, bytes, createdMs: this.#world.wallMs() };
      await replaceFile(this.#recordPathOf(about.id), JSON.stringify(file));
      this.#files.set(about.id, file);
      return file;
    } finally {
      await content.close();
    }
  }

  /** Deletes the record first, so that after a power cut the file does not count. */
  async delete(id: string): Promise<void> {
    this.#files.delete(id);
    await rm(this.#recordPathOf(id), { force: true });
    await syncDirectory(this.#folder);
    await rm(this.pathOf(id), { force: true });
  }

  /** Removes what no record and no batch speaks of. @param isWritten - whether a batch writes to the file of this id */
  async sweep(isWritten: (id: string) => boolean): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const id = /^(file-\w+)\.jsonl$/.exec(name)?.[1];
      if (id !== undefined && !this.#files.has(id) && !isWritten(id)) await rm(this.pathOf(id));
    }
  }

  #recordPathOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }
}

/** A file as the API shows it. */
export function fileObject({ id, bytes, createdMs, filename, purpose }: StoredFile) {
  const created_at = Math.floor(createdMs / 1_000);
  return { id, object: "file", bytes, created_at, filename, purpose, status: "processed" };
}

/** @returns the size, 0 for a file that is not there */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

export function newestFirst<T extends { id: string; createdMs: number }>(items: Iterable<T>): T[] {
  return [...items].toSorted(
    (one, other) => other.createdMs - one.createdMs || (one.id < other.id ? 1 : -1),
  );
}

/** @param folder - made when it is missing @param name - of a record @throws Error for a record that cannot be read */
export async function recordsIn<T>(
  folder: string,
  name: RegExp,
  schema: z.ZodType<T>,
): Promise<T[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const paths = (await readdir(folder)).filter((each) => name.test(each));
  return Promise.all(
    paths.map(async (each) => {
      const path = join(folder, each);
      const { data } = schema.safeParse(parseObject(await readFile(path, "utf8")));
      if (data === undefined) throw new Error(`${path} is no record that this version can read`);
      return data;
    }),
  );
}
