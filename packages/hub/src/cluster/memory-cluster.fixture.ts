import {
  ClusterDirectory,
  DirectoryUnavailable,
  type DirectoryListener,
  type EntryStore,
  PRESENCE_INTERVAL_MS,
  type StoredEntry,
} from "./directory.ts";
import { type EntryKind, WATCHED_KINDS, type WatchedKind } from "./entry-codec.ts";

/** A directory in memory that hubs of one process share: the reference for the one over NATS. */
export interface MemoryCluster {
  /** One hub's directory. */
  directory(options?: MemoryDirectoryOptions): MemoryDirectory;
}

interface MemoryDirectoryOptions {
  /** ms, monotonic */
  nowMs?: () => number;
  /** runs an action again and again. @returns how to stop */
  every?: (intervalMs: number, action: () => void) => () => void;
  /** Delivers what this hub is to see, later and in order; a test may hold it back. */
  deliver?: (action: () => void) => void;
  /** Carries a call to the directory, and its reply back. A test may delay either, or lose the reply and throw. */
  call?: <Result>(action: () => Result) => Promise<Result>;
  onWarning?: (message: string) => void;
}

export interface MemoryDirectory extends ClusterDirectory {
  /** As when the network to the directory is cut: calls fail, nothing is seen. */
  cutOff(): void;
  /** What changed meanwhile is reported, then it is up. */
  heal(): void;
  /** As when its process is killed: it changes nothing anymore, and its hub sees nothing, not even that. */
  killed(): void;
}

export function createMemoryCluster(): MemoryCluster {
  const shared = new SharedDirectory();
  return { directory: (options = {}) => new DirectoryInMemory(shared, options) };
}

interface Watcher {
  entryChanged(kind: WatchedKind, entry: StoredEntry): void;
}

/** What all directories of a cluster have in common. */
class SharedDirectory {
  readonly watchers = new Set<Watcher>();
  readonly #entries: Record<EntryKind, Map<string, { text: string; revision: number }>> = {
    rooms: new Map(),
    hubs: new Map(),
    homes: new Map(),
    registrations: new Map(),
  };
  #revision = 0;

  read(kind: EntryKind, key: string): { text: string; revision: number } | undefined {
    return this.#entries[kind].get(key);
  }

  list(kind: EntryKind): StoredEntry[] {
    return [...this.#entries[kind]].map(([key, entry]) => ({ key, ...entry }));
  }

  /**
   * @param text - undefined deletes
   * @param expectedRevision - undefined for whatever it is
   */
  change(
    kind: EntryKind,
    key: string,
    text: string | undefined,
    expectedRevision: number | undefined,
  ): number | undefined {
    const entries = this.#entries[kind];
    const current = entries.get(key)?.revision ?? 0;
    if (expectedRevision !== undefined && expectedRevision !== current) return undefined;
    const revision = ++this.#revision;
    if (text === undefined) entries.delete(key);
    else entries.set(key, { text, revision });
    if (kind === "registrations") return revision;
    for (const watcher of this.watchers) watcher.entryChanged(kind, { key, text, revision });
    return revision;
  }
}

class DirectoryInMemory extends ClusterDirectory implements MemoryDirectory, Watcher {
  readonly #shared: SharedDirectory;
  readonly #options: Required<MemoryDirectoryOptions>;
  #stopBeats: (() => void) | undefined;
  #beat: { key: string; revision: number } | undefined;
  /** what is on its way from before is not delivered */
  #connection = 0;
  #isCutOff = false;
  #isClosed = false;
  /** while it opens */
  #onOpenFailed: ((error: Error) => void) | undefined;

  constructor(shared: SharedDirectory, options: MemoryDirectoryOptions) {
    super();
    this.#shared = shared;
    this.#options = {
      nowMs: () => performance.now(),
      every: (intervalMs, action) => {
        const timer = setInterval(action, intervalMs).unref();
        return () => clearInterval(timer);
      },
      deliver: queueMicrotask,
      call: async (action) => action(),
      onWarning: () => {},
      ...options,
    };
  }

  async open(listener: DirectoryListener | undefined): Promise<void> {
    this.#refuseWhenCutOff();
    this.listener = listener;
    this.#stopBeats = this.#options.every(PRESENCE_INTERVAL_MS, () => this.beat());
    await new Promise<void>((resolve, reject) => {
      this.#onOpenFailed = reject;
      this.#connect(resolve);
    });
    this.#onOpenFailed = undefined;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#stopBeats?.();
    if (this.#beat !== undefined && this.isUp)
      this.#shared.change("hubs", this.#beat.key, undefined, this.#beat.revision);
    this.#isClosed = true;
    this.#disconnect();
  }

  cutOff(): void {
    this.#isCutOff = true;
    const wasUp = this.isUp;
    this.#disconnect();
    this.#onOpenFailed?.(new DirectoryUnavailable("the connection was lost meanwhile"));
    if (wasUp) this.listener?.stateChanged(false);
  }

  heal(): void {
    this.#isCutOff = false;
    const isOpened = this.#stopBeats !== undefined && this.#onOpenFailed === undefined;
    if (isOpened && !this.#isClosed && !this.isUp) this.#connect(() => {});
  }

  killed(): void {
    this.#isClosed = true;
    this.#disconnect();
  }

  entryChanged(kind: WatchedKind, entry: StoredEntry): void {
    this.#deliver(() => this.changed(kind, entry));
  }

  #connect(onComplete: () => void): void {
    this.#connection += 1;
    this.#shared.watchers.add(this);
    for (const kind of WATCHED_KINDS) {
      const entries = this.#shared.list(kind);
      this.#deliver(() => {
        for (const entry of entries) this.changed(kind, entry);
        this.onlyThese(kind, new Set(entries.map(({ key }) => key)));
      });
    }
    this.#deliver(() => {
      this.upSinceMs = this.#options.nowMs();
      this.beat();
      this.listener?.stateChanged(true);
      onComplete();
    });
  }

  #disconnect(): void {
    this.#connection += 1;
    this.upSinceMs = undefined;
    this.#shared.watchers.delete(this);
  }

  #deliver(action: () => void): void {
    const connection = this.#connection;
    this.#options.deliver(() => {
      if (connection === this.#connection) action();
    });
  }

  protected override beat(): void {
    const next = this.isUp ? this.nextBeat() : undefined;
    if (next === undefined) return;
    const store = () => {
      const revision = this.#shared.change("hubs", next.key, next.text, undefined) ?? 0;
      this.#beat = { key: next.key, revision };
    };
    // The next one is as good.
    this.#options.call(store).catch(() => {});
  }

  protected override warn(message: string): void {
    this.#options.onWarning(message);
  }

  protected override async reach<Result>(
    kind: EntryKind,
    work: (store: EntryStore) => Promise<Result>,
  ): Promise<Result> {
    const call = async <Found>(action: () => Found): Promise<Found> => {
      this.#refuseWhenCutOff();
      const result = await this.#options.call(action);
      // The reply was on its way when the network was cut.
      this.#refuseWhenCutOff();
      return result;
    };
    return work({
      put: (key, text, expected) => call(() => this.#shared.change(kind, key, text, expected)),
      delete: (key, expected) =>
        call(() => {
          if (expected === 0) return false;
          return this.#shared.change(kind, key, undefined, expected) !== undefined;
        }),
      read: (key) => call(() => this.#shared.read(kind, key)),
      list: async (key) => {
        const entries = await call(() => this.#shared.list(kind));
        return entries
          .filter((entry) => entry.key.startsWith(`${key}.`))
          .map(({ text }) => text ?? "");
      },
    });
  }

  #refuseWhenCutOff(): void {
    if (this.#isClosed) throw new DirectoryUnavailable("the directory is closed");
    if (this.#isCutOff) throw new DirectoryUnavailable("the directory cannot be reached");
  }
}
