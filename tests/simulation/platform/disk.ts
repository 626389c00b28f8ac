import { basename, dirname } from "node:path";
import type { Machine, Scheduler } from "./scheduler.ts";

/** What a name stands for: its bytes, and those of them that outlive a power cut. */
interface File {
  readonly inode: number;
  bytes: Buffer;
  synced: Buffer;
}

type Named = File | "folder";

/** Where a simulated disk is. It always exists. */
export const diskRoot = "/disk";

/** No file of the process itself has such a number. */
const firstDescriptor = 1_000_000;

/** The flags of `open` and `writeFile` that are known here. */
interface WriteOptions {
  flag?: string;
  flush?: boolean;
}

/**
 * The disk of one machine, as `node:fs/promises` sees it. It outlives the process; a power cut takes what was not synced:
 * bytes of a file until `sync` of the file, names until `sync` of their folder.
 */
export class Disk {
  /** No byte and no name more fits. */
  isFull = false;
  readonly #scheduler: Scheduler;
  readonly #machine: Machine;
  readonly #names = new Map<string, Named>([[diskRoot, "folder"]]);
  readonly #syncedNames = new Map<string, Named>([[diskRoot, "folder"]]);
  readonly #mostMs: number;
  readonly #open = new Map<number, File>();
  #lastOpen = firstDescriptor;

  constructor(scheduler: Scheduler, machine: Machine) {
    this.#scheduler = scheduler;
    this.#machine = machine;
    this.#mostMs = scheduler.random() < 0.5 ? 1 : 30;
  }

  /** Its files, as a process would read them now: path and text. */
  get files(): (readonly [path: string, text: string])[] {
    return [...this.#names].flatMap(([path, named]) =>
      named === "folder" ? [] : [[path, named.bytes.toString()] as const],
    );
  }

  /** Of everything that is not synced the seed decides whether it is lost. */
  powerCut(): void {
    const isKept = () => this.#scheduler.random() < 0.5;
    for (const path of new Set([...this.#names.keys(), ...this.#syncedNames.keys()])) {
      const [now, before] = [this.#names.get(path), this.#syncedNames.get(path)];
      if (now !== before && !isKept()) setOrDelete(this.#names, path, before);
    }
    for (const [path, named] of this.#names) {
      if (path !== diskRoot && this.#names.get(dirname(path)) !== "folder")
        this.#names.delete(path);
      else if (named !== "folder" && !named.bytes.equals(named.synced) && !isKept())
        named.bytes = named.synced;
    }
    for (const path of this.#syncedNames.keys()) this.#syncedNames.delete(path);
    for (const [path, named] of this.#names) {
      this.#syncedNames.set(path, named);
      if (named !== "folder") named.synced = named.bytes;
    }
  }

  /** Each call takes its time, and does not happen when the machine is killed before. */
  readonly calls = {
    mkdir: (path: string) =>
      this.#call("mkdir", () => {
        let first: string | undefined;
        for (let at = path; !this.#names.has(at); at = dirname(at)) first = at;
        for (let at = path; !this.#names.has(at); at = dirname(at)) this.#add(at, "folder");
        return first;
      }),
    readdir: (path: string) => this.#call("readdir", () => namesIn(this.#names, path)),
    readFile: (path: string, options?: unknown) =>
      this.#call("read", () => {
        const { bytes } = this.#file(path);
        return options === undefined ? Buffer.from(bytes) : bytes.toString();
      }),
    stat: (path: string) => this.#call("stat", () => statsOf(this.#get(path))),
    lstat: (path: string) => this.#call("stat", () => statsOf(this.#get(path))),
    rename: (from: string, to: string) =>
      this.#call("rename", () => {
        this.#names.set(to, this.#get(from));
        this.#names.delete(from);
      }),
    link: (from: string, to: string) => this.#call("link", () => this.#add(to, this.#get(from))),
    unlink: (path: string) =>
      this.#call("unlink", () => {
        this.#get(path);
        this.#names.delete(path);
      }),
    writeFile: async (path: string, text: string | Uint8Array, options: WriteOptions = {}) => {
      const file = await this.calls.open(path, options.flag ?? "w");
      await file.writeFile(text);
      if (options.flush === true) await file.sync();
      await file.close();
    },
    open: (path: string, flag: string) =>
      this.#call("open", () => {
        if (flag === "w") this.#names.delete(path);
        if (flag !== "r") this.#add(path, emptyFile());
        return this.#handleOf(path, this.#get(path));
      }),
  };

  /** As `node:fs` has them: at once. What is written is not synced. */
  readonly callsSync = {
    mkdirSync: (path: string) => {
      for (let at = path; !this.#names.has(at); at = dirname(at)) this.#add(at, "folder");
    },
    readdirSync: (path: string) => namesIn(this.#names, path),
    rmSync: (path: string) => void this.#names.delete(path),
    /** for appending, and made when it is not there */
    openSync: (path: string) => {
      if (!this.#names.has(path)) this.#add(path, emptyFile());
      this.#open.set(++this.#lastOpen, this.#file(path));
      return this.#lastOpen;
    },
    closeSync: (descriptor: number) => void this.#open.delete(descriptor),
    fstatSync: (descriptor: number) => {
      const { bytes, inode } = this.#opened(descriptor);
      return { size: bytes.length, ino: inode };
    },
    writeSync: (descriptor: number, bytes: Uint8Array) => {
      if (this.isFull) throw systemError("ENOSPC", "write");
      const file = this.#opened(descriptor);
      file.bytes = Buffer.concat([file.bytes, bytes]);
      return bytes.length;
    },
    readSync: (descriptor: number, into: Buffer, at: number, length: number, from: number) =>
      this.#opened(descriptor).bytes.copy(into, at, from, from + length),
  };

  /** Whether it is a file of this disk that is open. */
  hasOpen(descriptor: unknown): boolean {
    return this.#open.has(descriptor as number);
  }

  #opened(descriptor: number): File {
    const file = this.#open.get(descriptor);
    if (file === undefined) throw systemError("EBADF", String(descriptor));
    return file;
  }

  #handleOf(path: string, named: Named) {
    return {
      writeFile: (text: string | Uint8Array) =>
        this.#call("write", () => {
          if (this.isFull) throw systemError("ENOSPC", path);
          if (named !== "folder") named.bytes = Buffer.from(text as string);
        }),
      sync: () =>
        this.#call("sync", () => {
          if (named !== "folder") {
            named.synced = named.bytes;
            return;
          }
          for (const name of new Set([...this.#names.keys(), ...this.#syncedNames.keys()])) {
            if (dirname(name) === path) {
              setOrDelete(this.#syncedNames, name, this.#names.get(name));
            }
          }
        }),
      close: async () => {},
    };
  }

  #add(path: string, named: Named): void {
    if (this.#names.has(path)) throw systemError("EEXIST", path);
    if (this.isFull) throw systemError("ENOSPC", path);
    this.#names.set(path, named);
  }

  #get(path: string): Named {
    const named = this.#names.get(path);
    if (named === undefined) throw systemError("ENOENT", path);
    return named;
  }

  #file(path: string): File {
    const named = this.#get(path);
    if (named === "folder") throw systemError("EISDIR", path);
    return named;
  }

  #call<Result>(what: string, task: () => Result): Promise<Result> {
    const afterMs = 0.05 + this.#scheduler.random() * this.#mostMs;
    return new Promise((resolve, reject) => {
      this.#scheduler.schedule(this.#machine, afterMs, `disk ${what}`, () => {
        try {
          resolve(task());
        } catch (error) {
          reject(error);
        }
      });
    });
  }
}

let inodes = 0;

function emptyFile(): File {
  return { inode: ++inodes, bytes: Buffer.alloc(0), synced: Buffer.alloc(0) };
}

function namesIn(names: ReadonlyMap<string, Named>, folder: string): string[] {
  return [...names.keys()].filter((name) => dirname(name) === folder).map((at) => basename(at));
}

function setOrDelete(names: Map<string, Named>, path: string, named: Named | undefined): void {
  if (named === undefined) names.delete(path);
  else names.set(path, named);
}

function statsOf(named: Named) {
  return { isFile: () => named !== "folder", isDirectory: () => named === "folder" };
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
