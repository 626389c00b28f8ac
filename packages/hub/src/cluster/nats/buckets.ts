import { REGISTRATION_KEPT_MS } from "../directory.ts";
import type { EntryKind } from "../entry-codec.ts";
import { Bucket, type BucketOptions } from "./bucket.ts";
import type { NatsClient } from "./nats-connection.ts";

export type Buckets = Record<EntryKind, Bucket>;

/** A presence that is not renewed is removed after it, in case a hub never removes its own. */
const presenceTtlMs = 60_000;

/** The buckets of a cluster; creates missing ones. @param prefix - of their names */
export async function openBuckets(
  client: NatsClient,
  prefix: string,
  storage: "file" | "memory" = "file",
): Promise<Buckets> {
  const replicas = copiesAt(client);
  const open = (kind: EntryKind, options: Omit<BucketOptions, "replicas">) =>
    Bucket.open(client, `${prefix}_${kind}`, { replicas, ...options });
  const [rooms, hubs, homes, registrations] = await Promise.all([
    open("rooms", { description: "roomhub: rooms", storage }),
    // Renewed every few seconds: not worth a disk.
    open("hubs", { description: "roomhub: hubs", storage: "memory", ttlMs: presenceTtlMs }),
    open("homes", { description: "roomhub: the hub that each room has its home at", storage }),
    open("registrations", {
      description: "roomhub: what the homes of rooms know of their participants",
      storage,
      ttlMs: REGISTRATION_KEPT_MS,
    }),
  ]);
  return { rooms, hubs, homes, registrations };
}

/** What is not safe in a bucket, with the next step. JetStream tells no client whether it syncs each write. */
export function storageWarning({ storage, copies }: Pick<Bucket, "storage" | "copies">) {
  if (storage === "memory")
    return "NATS keeps the rooms in memory: they are lost once NATS and all hubs have stopped.";
  if (copies > 1) return undefined;
  return "NATS has one copy of each room, and does not say whether it is on the disk once it is confirmed: a power cut may take back 2 minutes. Set sync_interval: always in its configuration, or run three servers.";
}

/** The server lost them, as one does that keeps them in memory and restarts. Writes where there is none: of several hubs that write back the same, one does. */
export async function writeBack(
  bucket: Bucket,
  entries: ReadonlyMap<string, { text: string }>,
): Promise<void> {
  await Promise.all([...entries].map(([key, { text }]) => bucket.put(key, text, 0)));
}

/** One on each server, at most 3. */
function copiesAt({ connection: { info } }: NatsClient): number {
  // Only servers of a cluster name each other.
  const servers = info?.cluster === undefined ? 1 : (info.connect_urls?.length ?? 1);
  return Math.max(1, Math.min(3, servers));
}
