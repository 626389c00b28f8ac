import { pause, systemWorld, type Timer, type World } from "@roomhub/protocol";
import { HubError, reasonOf } from "../../errors.ts";
import { withinMs } from "../../within.ts";
import {
  ClusterDirectory,
  DirectoryUnavailable,
  type DirectoryListener,
  type EntryStore,
  PRESENCE_INTERVAL_MS,
  type StoredEntry,
} from "../directory.ts";
import {
  encodeKey,
  ENTRY_KINDS,
  type EntryKind,
  WATCHED_KINDS,
  type WatchedKind,
} from "../entry-codec.ts";
import type { Bucket } from "./bucket.ts";
import { type Buckets, openBuckets, storageWarning, writeBack } from "./buckets.ts";
import { connectToNats, type NatsAccess, type NatsClient } from "./nats-connection.ts";

export interface NatsDirectoryOptions extends NatsAccess {
  /** of buckets and subjects: clusters that share a server have different ones; `roomhub` when absent */
  prefix?: string | undefined;
  /** `memory` for clusters whose rooms need not survive; `file` when absent */
  storage?: "file" | "memory" | undefined;
  /** shown by the server */
  name?: string | undefined;
  onWarning?: ((message: string) => void) | undefined;
  /** time, timers and randomness; the system's when left out */
  world?: World | undefined;
}

const longestRetryMs = 4_000;
const replayTimeoutMs = 60_000;
/** Each hub has so long to see a deletion before what marks it is removed. One that was cut off longer finds out what is missing when it reads all entries again. */
const tombstoneKeptMs = 3_600_000;
/** A client that waits for its server must not keep a hub from stopping. */
const closeWithinMs = 2_000;

/**
 * The directory over NATS: JetStream key-value buckets, all but that of registrations watched. After each reconnect
 * all entries are read again, so that no change is missed, whatever happened meanwhile.
 */
export class NatsDirectory extends ClusterDirectory {
  readonly #options: NatsDirectoryOptions;
  readonly #prefix: string;
  readonly #world: World;
  #beats: Timer | undefined;
  /** of calls whose outcome is not known yet */
  readonly #rejects = new Set<(error: Error) => void>();
  #client: NatsClient | undefined;
  #buckets: Buckets | undefined;
  #watches: (() => void)[] = [];
  /** rises whenever what runs for the one before is void */
  #round = 0;
  /** its revision: what another process under this hub's id wrote after it is not removed */
  #lastBeat: Promise<number | undefined> = Promise.resolve(0);
  #isClosed = false;
  #lastWarning = "";

  constructor(options: NatsDirectoryOptions) {
    super();
    this.#options = options;
    this.#prefix = options.prefix ?? "roomhub";
    this.#world = options.world ?? systemWorld;
  }

  async open(listener: DirectoryListener | undefined): Promise<void> {
    this.listener = listener;
    this.#client = await connectToNats(this.#options, {
      name: this.#options.name ?? "roomhub",
      inboxPrefix: `_INBOX_${this.#prefix}`,
      random: () => this.#world.random(),
    });
    try {
      await this.#readAll(this.#client, ++this.#round);
    } catch (error) {
      await this.#client.connection.close();
      throw asUnavailable(error);
    }
    void this.#followConnection(this.#client);
    const beats = this.#world.setInterval(() => this.beat(), PRESENCE_INTERVAL_MS);
    this.#beats = this.#world.unref(beats);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#world.clearInterval(this.#beats);
    const buckets = this.#buckets;
    if (this.isUp && buckets !== undefined && this.own !== undefined) {
      const { hubId } = this.own;
      const removed = this.#lastBeat.then((revision) =>
        buckets.hubs.delete(encodeKey(hubId), revision),
      );
      // The others notice its silence as well.
      await this.#untilDown(removed).catch(() => {});
    }
    this.listener = undefined;
    this.#goDown("the directory is closed");
    const closed = this.#client?.connection.close();
    if (closed !== undefined) await withinMs(this.#world, closed, closeWithinMs);
  }

  async #followConnection({ connection }: NatsClient): Promise<void> {
    for await (const status of connection.status()) {
      switch (status.type) {
        case "disconnect":
          this.#goDown("the connection to NATS is lost");
          break;
        case "reconnect":
          void this.#recover();
          break;
        case "error":
          this.warn(`NATS reports: ${status.error.message}.`);
          break;
        default:
        // Of the rest nothing follows.
      }
    }
  }

  #goDown(reason: string): void {
    this.#round += 1;
    for (const stop of this.#watches) stop();
    this.#watches = [];
    const wasUp = this.isUp;
    this.upSinceMs = undefined;
    for (const reject of this.#rejects) reject(new DirectoryUnavailable(reason));
    this.#rejects.clear();
    if (wasUp) this.listener?.stateChanged(false);
  }

  /** Reads all entries again, as often as it takes. */
  async #recover(): Promise<void> {
    const client = this.#client;
    if (client === undefined || this.#isClosed) return;
    this.#goDown("the directory is read again");
    const round = this.#round;
    for (let attempt = 0; round === this.#round; attempt++) {
      try {
        await this.#readAll(client, round);
        return;
      } catch (error) {
        if (round !== this.#round) return;
        this.warn(`The cluster's directory cannot be read: ${asUnavailable(error).message}.`);
        for (const stop of this.#watches.splice(0)) stop();
      }
      const longestMs = Math.min(longestRetryMs, 250 * 2 ** attempt);
      await pause(this.#world, this.#world.random() * longestMs);
    }
  }

  async #readAll(client: NatsClient, round: number): Promise<void> {
    const opening = openBuckets(client, this.#prefix, this.#options.storage);
    const buckets = await this.#untilDown(opening);
    const before = this.#buckets;
    this.warning = storageWarning(buckets.rooms);
    for (const kind of ENTRY_KINDS) {
      // The server lost the bucket.
      if (before !== undefined && before[kind].createdAt !== buckets[kind].createdAt)
        await this.#writeBack(kind, buckets[kind]);
    }
    // Not before: what fails here is done at the next attempt.
    this.#buckets = buckets;
    await Promise.all(
      WATCHED_KINDS.map((kind) => this.#untilDown(this.#watch(kind, buckets[kind], round))),
    );
    if (round !== this.#round) throw new DirectoryUnavailable("the connection was lost meanwhile");
    this.upSinceMs = this.#world.monotonicMs();
    this.#lastWarning = "";
    this.beat();
    this.listener?.stateChanged(true);
  }

  /** The homes of rooms, and with them the registrations, are written by the hubs that are at home there. */
  async #writeBack(kind: EntryKind, bucket: Bucket): Promise<void> {
    if (kind === "registrations") this.listener?.registrationsLost();
    else if (kind === "rooms") await this.#untilDown(writeBack(bucket, this.known.rooms));
  }

  /** Resolves once all entries of the bucket were reported. */
  async #watch(kind: WatchedKind, bucket: Bucket, round: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = this.#world.setTimeout(() => {
      reject(new DirectoryUnavailable(`the ${kind} could not be read in time`));
    }, replayTimeoutMs);
    this.#world.unref(timer);
    let isReplayed = false;
    const stop = await bucket.watch({
      entry: (entry) => {
        if (round !== this.#round) return;
        this.#noteDeletion(kind, entry);
        this.changed(kind, entry);
      },
      replayed: (keys) => {
        if (round !== this.#round) return;
        isReplayed = true;
        this.onlyThese(kind, keys);
        this.#world.clearTimeout(timer);
        resolve();
      },
      broken: (reason) => {
        this.#world.clearTimeout(timer);
        if (!isReplayed) reject(new DirectoryUnavailable(reason));
        else if (round === this.#round) void this.#recover();
      },
    });
    if (round === this.#round) this.#watches.push(stop);
    else stop();
    await promise;
  }

  /** Those of hubs are removed by the server, the others by whichever hub is first. */
  #noteDeletion(kind: WatchedKind, { key, text, revision }: StoredEntry): void {
    if (text !== undefined || kind === "hubs") return;
    const forget = () => {
      // Otherwise it stays until all entries are read again.
      if (this.isUp) this.#buckets?.[kind].forget(key, revision).catch(() => {});
    };
    const keptMs = tombstoneKeptMs * (1 + this.#world.random());
    this.#world.unref(this.#world.setTimeout(forget, keptMs));
  }

  protected override beat(): void {
    const buckets = this.#buckets;
    const next = this.isUp ? this.nextBeat() : undefined;
    if (buckets === undefined || next === undefined) return;
    const round = this.#round;
    this.#lastBeat = buckets.hubs.put(next.key, next.text, undefined).catch(() => {
      // JetStream does not respond although the connection is open.
      if (round === this.#round) void this.#recover();
      return 0;
    });
  }

  /** A server repeats itself at each attempt. */
  protected override warn(message: string): void {
    if (message !== this.#lastWarning) this.#options.onWarning?.(message);
    this.#lastWarning = message;
  }

  protected override async reach<Result>(
    kind: EntryKind,
    work: (store: EntryStore) => Promise<Result>,
  ): Promise<Result> {
    if (this.#isClosed) throw new DirectoryUnavailable("the directory is closed");
    const buckets = this.#buckets;
    if (!this.isUp || buckets === undefined)
      throw new DirectoryUnavailable("the directory cannot be reached");
    try {
      return await this.#untilDown(work(buckets[kind]));
    } catch (error) {
      throw asUnavailable(error);
    }
  }

  /** The client waits for its timeout even when the connection is lost. */
  async #untilDown<Result>(work: Promise<Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#rejects.add(reject);
    work.then(resolve, reject);
    try {
      return await promise;
    } finally {
      this.#rejects.delete(reject);
    }
  }
}

function asUnavailable(error: unknown): Error {
  if (error instanceof HubError || error instanceof DirectoryUnavailable) return error;
  const problem = reasonOf(error);
  return new DirectoryUnavailable(problem, { cause: error });
}
