import type { JsMsg, StreamInfo } from "@nats-io/jetstream";
import type { KV, KvOptions } from "@nats-io/kv";
import type { EntryStore, StoredEntry } from "../directory.ts";
import type { NatsClient } from "./nats-connection.ts";

export interface BucketOptions {
  description: string;
  storage: "file" | "memory";
  replicas: number;
  /** Entries that are not written again are removed after it; no watcher sees that. */
  ttlMs?: number | undefined;
}

const readsAtOnce = 100;

/** What a watch calls, in order. */
export interface BucketWatcher {
  entry(entry: StoredEntry): void;
  /** Once, after all entries that exist were reported. */
  replayed(keys: ReadonlySet<string>): void;
  /** At most once, and nothing after it. */
  broken(reason: string): void;
}

/**
 * A JetStream key-value bucket whose revisions rise even when the bucket is made anew, as a server does that keeps it in
 * memory and restarts: to a sequence of the stream is added when the stream was made.
 */
export class Bucket implements EntryStore {
  /** ISO text: another time is another stream */
  readonly createdAt: string;
  readonly storage: "file" | "memory";
  /** on as many servers */
  readonly copies: number;
  readonly #client: NatsClient;
  readonly #kv: KV;
  readonly #stream: string;
  readonly #subjectPrefix: string;
  readonly #base: number;

  private constructor(client: NatsClient, kv: KV, name: string, { created, config }: StreamInfo) {
    this.createdAt = created;
    this.storage = config.storage;
    this.copies = config.num_replicas;
    this.#client = client;
    this.#kv = kv;
    this.#stream = `KV_${name}`;
    this.#subjectPrefix = `$KV.${name}.`;
    this.#base = (Date.parse(created) - yearZeroMs) * changesPerMs;
  }

  /** Makes it unless it exists, in which case it stays as it is. */
  static async open(client: NatsClient, name: string, options: BucketOptions): Promise<Bucket> {
    const { jetstream, kv } = client.modules;
    const { StorageType } = jetstream;
    const wanted: Partial<KvOptions> = {
      description: options.description,
      history: 1,
      storage: options.storage === "memory" ? StorageType.Memory : StorageType.File,
      replicas: options.replicas,
      // A follower may answer a direct read, with what was stored a moment ago.
      allow_direct: false,
    };
    if (options.ttlMs !== undefined) wanted.ttl = options.ttlMs;
    const create = () => new kv.Kvm(client.streams).create(name, wanted);
    // Hubs that start at once create it at once: the server may refuse all but one, each of which finds it afterwards.
    const bucket = await create().catch((error: unknown) => {
      if (error instanceof jetstream.JetStreamApiError) return create();
      throw error;
    });
    const status = await bucket.status();
    return new Bucket(client, bucket, name, status.streamInfo);
  }

  async put(
    key: string,
    text: string,
    expectedRevision: number | undefined,
  ): Promise<number | undefined> {
    const sequence = this.#sequence(expectedRevision);
    if (sequence !== undefined && sequence < 0) return undefined;
    const written = this.#conflictAsUndefined(
      sequence === 0
        ? this.#kv.create(key, text)
        : this.#kv.put(key, text, sequence === undefined ? {} : { previousSeq: sequence }),
    );
    const revision = await written;
    return revision === undefined ? undefined : revision + this.#base;
  }

  async delete(key: string, expectedRevision: number | undefined): Promise<boolean> {
    const sequence = this.#sequence(expectedRevision);
    if (sequence !== undefined && sequence <= 0) return false;
    const options = sequence === undefined ? {} : { previousSeq: sequence };
    const deleted = this.#kv.delete(key, options).then(() => true);
    return (await this.#conflictAsUndefined(deleted)) ?? false;
  }

  async read(key: string): Promise<{ text: string; revision: number } | undefined> {
    const entry = await this.#kv.get(key);
    if (entry === null || entry.operation !== "PUT") return undefined;
    return { text: entry.string(), revision: entry.revision + this.#base };
  }

  /**
   * The texts of all entries whose key begins with `key` and a dot. Each is read from the leader, where a consumer might
   * begin on a server that has not heard of the last changes.
   */
  async list(key: string): Promise<string[]> {
    const filter = `${this.#subjectPrefix}${key}.>`;
    const { state } = await this.#client.manager.streams.info(this.#stream, {
      subjects_filter: filter,
    });
    const keys = Object.keys(state.subjects ?? {}).map((subject) =>
      subject.slice(this.#subjectPrefix.length),
    );
    const texts: string[] = [];
    for (let at = 0; at < keys.length; at += readsAtOnce) {
      const batch = keys.slice(at, at + readsAtOnce).map((each) => this.read(each));
      for (const entry of await Promise.all(batch)) if (entry !== undefined) texts.push(entry.text);
    }
    return texts;
  }

  /** Removes what marks a deletion, unless the key was written again since. */
  async forget(key: string, revision: number): Promise<void> {
    const filter = this.#subjectPrefix + key;
    const seq = revision - this.#base + 1;
    await this.#client.manager.streams.purge(this.#stream, { filter, seq });
  }

  /** Reports all entries, then each change. @returns how to stop */
  async watch(watcher: BucketWatcher): Promise<() => void> {
    const { streams, modules } = this.#client;
    const consumer = await streams.consumers.getPushConsumer(this.#stream, {
      deliver_policy: modules.jetstream.DeliverPolicy.LastPerSubject,
      filter_subjects: `${this.#subjectPrefix}>`,
    });
    const { num_pending: waiting } = await consumer.info(true);
    const keys = new Set<string>();
    let isReplayed = false;
    let received = 0;
    let isStopped = false;
    const messages = await consumer.consume({
      callback: (message) => {
        if (isStopped) return;
        const entry = this.#read(message);
        watcher.entry(entry);
        if (isReplayed) return;
        received += 1;
        if (entry.text === undefined) keys.delete(entry.key);
        else keys.add(entry.key);
        // An entry that changes meanwhile comes later than it was counted.
        if (received < waiting && message.info.pending > 0) return;
        isReplayed = true;
        watcher.replayed(keys);
      },
    });
    if (waiting === 0) {
      isReplayed = true;
      watcher.replayed(keys);
    }
    const stop = () => {
      isStopped = true;
      messages.stop();
    };
    const broken = (reason: string) => {
      if (isStopped) return;
      stop();
      watcher.broken(reason);
    };
    void messages.closed().then((error) => broken(error?.message ?? "the watch ended"));
    void followNotices(messages.status(), broken);
    return stop;
  }

  #read(message: JsMsg): StoredEntry {
    const isDeleted = (message.headers?.get("KV-Operation") ?? "") !== "";
    return {
      key: message.subject.slice(this.#subjectPrefix.length),
      text: isDeleted ? undefined : message.string(),
      revision: message.seq + this.#base,
    };
  }

  /** Negative when the revision is of a stream before this one. */
  #sequence(revision: number | undefined): number | undefined {
    return revision === undefined || revision === 0 ? revision : revision - this.#base;
  }

  async #conflictAsUndefined<Result>(work: Promise<Result>): Promise<Result | undefined> {
    const { JetStreamApiError, JetStreamApiCodes } = this.#client.modules.jetstream;
    try {
      return await work;
    } catch (error) {
      if (
        error instanceof JetStreamApiError &&
        (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
          error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
      )
        return undefined;
      throw error;
    }
  }
}

async function followNotices(
  notices: AsyncIterable<{ type: string }>,
  broken: (reason: string) => void,
): Promise<void> {
  for await (const { type } of notices) {
    if (type === "heartbeats_missed" || type === "stream_not_found" || type === "consumer_deleted")
      broken(type.replaceAll("_", " "));
  }
}

const yearZeroMs = Date.UTC(2020, 0);
/** The base of a newer stream is larger than all revisions of an older one that was changed less often than this. */
const changesPerMs = 64;
