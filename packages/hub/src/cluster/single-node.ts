import type { HubIdentity } from "../domain/hub-identity.ts";
import { DirectoryReport, type StoredEntry } from "./directory-report.ts";
import {
  DirectoryUnavailable,
  PRESENCE_INTERVAL_MS,
  type ClusterDirectory,
  type DirectoryListener,
} from "./directory.ts";
import { EntryCalls } from "./entry-calls.ts";
import { encodeKey, type EntryKind, WATCHED_KINDS, type WatchedKind } from "./entry-codec.ts";
import { everyInterval, type Every } from "./every.ts";
import type { HubPresence } from "./hubs/hub-presence.ts";

/** A directory in memory that hubs of one process share: the reference for the one over NATS, and for tests. */
export interface MemoryCluster {
  /** One hub's directory. */
  directory(options?: MemoryDirectoryOptions): MemoryDirectory;
}

interface MemoryDirectoryOptions {
  /** ms, monotonic */
  nowMs?: () => number;
  every?: Every;
  /** Delivers what this hub is to see, later and in order; a test may hold it back. */
  deliver?: (action: () => void) => void;
  onWarning?: (message: string) => void;
}

export interface MemoryDirectory extends ClusterDirectory {
  /** As when the network to the directory is cut: calls fail, nothing is seen. */
  cutOff(): void;
  /** What changed meanwhile is reported, then it is up. */
  heal(): void;
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

class DirectoryInMemory extends EntryCalls implements MemoryDirectory, Watcher {
  readonly #shared: SharedDirectory;
  readonly #options: Required<MemoryDirectoryOptions>;
  #listener: DirectoryListener | undefined;
  #presence: (() => HubPresence) | undefined;
  #stopPresence: (() => void) | undefined;
  #own: HubIdentity | undefined;
  #beatRevision = 0;
  #upSinceMs: number | undefined;
  /** what is on its way from before is not delivered */
  #connection = 0;
  #isCutOff = false;
  #isClosed = false;

  constructor(shared: SharedDirectory, options: MemoryDirectoryOptions) {
    super();
    this.#shared = shared;
    this.#options = {
      nowMs: () => performance.now(),
      every: everyInterval,
      deliver: queueMicrotask,
      onWarning: () => {},
      ...options,
    };
  }

  get isUp(): boolean {
    return this.#upSinceMs !== undefined;
  }

  get upSinceMs(): number | undefined {
    return this.#upSinceMs;
  }

  async open(listener: DirectoryListener): Promise<void> {
    this.#refuseWhenCutOff();
    this.#listener = listener;
    this.report = new DirectoryReport({
      listener,
      own: () => this.#own,
      onWarning: this.#options.onWarning,
    });
    await new Promise<void>((resolve) => this.#connect(resolve));
  }

  announce(presence: () => HubPresence): void {
    this.#presence = presence;
    this.#own = presence();
    this.#beat();
    this.#stopPresence?.();
    this.#stopPresence = this.#options.every(PRESENCE_INTERVAL_MS, () => this.#beat());
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#stopPresence?.();
    if (this.#own !== undefined && this.isUp)
      this.#shared.change("hubs", encodeKey(this.#own.hubId), undefined, this.#beatRevision);
    this.#isClosed = true;
    this.#disconnect();
  }

  cutOff(): void {
    this.#isCutOff = true;
    const wasUp = this.isUp;
    this.#disconnect();
    if (wasUp) this.#listener?.stateChanged(false);
  }

  heal(): void {
    this.#isCutOff = false;
    if (this.#listener !== undefined && !this.#isClosed && !this.isUp) this.#connect(() => {});
  }

  entryChanged(kind: WatchedKind, entry: StoredEntry): void {
    this.#deliver(() => this.report?.changed(kind, entry));
  }

  #connect(onComplete: () => void): void {
    this.#connection += 1;
    this.#shared.watchers.add(this);
    for (const kind of WATCHED_KINDS) {
      const entries = this.#shared.list(kind);
      this.#deliver(() => {
        for (const entry of entries) this.report?.changed(kind, entry);
        this.report?.onlyThese(kind, new Set(entries.map(({ key }) => key)));
      });
    }
    this.#deliver(() => {
      this.#upSinceMs = this.#options.nowMs();
      this.#beat();
      this.#listener?.stateChanged(true);
      onComplete();
    });
  }

  #disconnect(): void {
    this.#connection += 1;
    this.#upSinceMs = undefined;
    this.#shared.watchers.delete(this);
  }

  #deliver(action: () => void): void {
    const connection = this.#connection;
    this.#options.deliver(() => {
      if (connection === this.#connection) action();
    });
  }

  #beat(): void {
    if (this.#presence === undefined || !this.isUp) return;
    const presence = this.#presence();
    const text = JSON.stringify(presence);
    const revision = this.#shared.change("hubs", encodeKey(presence.hubId), text, undefined);
    this.#beatRevision = revision ?? 0;
  }

  protected override async put(
    kind: EntryKind,
    key: string,
    text: string,
    expectedRevision: number | undefined,
  ): Promise<number | undefined> {
    this.#refuseWhenCutOff();
    return this.#shared.change(kind, key, text, expectedRevision);
  }

  protected override async delete(
    kind: EntryKind,
    key: string,
    expectedRevision: number | undefined,
  ): Promise<boolean> {
    this.#refuseWhenCutOff();
    if (expectedRevision === 0) return false;
    return this.#shared.change(kind, key, undefined, expectedRevision) !== undefined;
  }

  protected override async read(
    kind: EntryKind,
    key: string,
  ): Promise<{ text: string; revision: number } | undefined> {
    this.#refuseWhenCutOff();
    return this.#shared.read(kind, key);
  }

  protected override async list(kind: EntryKind, key: string): Promise<string[]> {
    this.#refuseWhenCutOff();
    const entries = this.#shared.list(kind).filter((entry) => entry.key.startsWith(`${key}.`));
    return entries.map(({ text }) => text ?? "");
  }

  #refuseWhenCutOff(): void {
    if (this.#isClosed) throw new DirectoryUnavailable("the directory is closed");
    if (this.#isCutOff) throw new DirectoryUnavailable("the directory cannot be reached");
  }
}
