import type { HubList } from "@roomhub/protocol";
import type { HubOptions } from "@roomhub/hub";
import { createMemoryCluster } from "../../../packages/hub/src/cluster/memory-cluster.fixture.ts";
import { startTestHub, type TestHub } from "./start-test-hub.ts";

type MemoryDirectory = ReturnType<ReturnType<typeof createMemoryCluster>["directory"]>;

/** One hub of a cluster in this process. */
export interface ClusterHub extends TestHub {
  /** cuts this hub off from the directory, and heals that */
  readonly directory: MemoryDirectory;
}

export interface TestCluster extends AsyncDisposable {
  /** Resolves once each hub can forward requests to each other. */
  linked(): Promise<void>;
  readonly hubs: readonly ClusterHub[];
  /** One hub more. */
  add(options?: ClusterHubOptions): Promise<ClusterHub>;
  /** Resolves once every hub answers the same for a path, as JSON that `isThere`. */
  everywhere(path: string, isThere: (body: never) => boolean): Promise<void>;
}

/** Directory and secret are the cluster's. */
export type ClusterHubOptions = Omit<HubOptions, "cluster"> & {
  cluster?: Omit<NonNullable<HubOptions["cluster"]>, "directory" | "secret">;
};

const secret = Buffer.alloc(32, "cluster");

/** Hubs that share a directory in memory; their links are real. */
export async function startCluster(
  count: number,
  options: ClusterHubOptions = {},
): Promise<TestCluster> {
  const shared = createMemoryCluster();
  const hubs: ClusterHub[] = [];
  async function add(own: ClusterHubOptions = {}): Promise<ClusterHub> {
    const directory = shared.directory();
    const cluster = { ...options.cluster, ...own.cluster, directory, secret };
    const hub = await startTestHub({ ...options, ...own, cluster });
    const joined = Object.assign(hub, { directory });
    hubs.push(joined);
    return joined;
  }
  for (let n = 0; n < count; n++) await add();
  return {
    hubs,
    add,
    async linked() {
      for (const hub of hubs) {
        await untilJson(hub, "/v1/cluster/hubs", ({ hubs: seen }: HubList) => {
          return seen.length === hubs.length && seen.every(({ link }) => link !== "down");
        });
      }
    },
    async everywhere(path, isThere) {
      for (const hub of hubs) await untilJson(hub, path, isThere);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(hubs.map((hub) => hub[Symbol.asyncDispose]()));
    },
  };
}

async function untilJson(
  hub: TestHub,
  path: string,
  isThere: (body: never) => boolean,
): Promise<void> {
  const deadlineMs = Date.now() + 5_000;
  for (;;) {
    const body = (await (await hub.fetch(path)).json()) as never;
    if (isThere(body)) return;
    if (Date.now() > deadlineMs) {
      throw new Error(`${hub.url}${path} is still ${JSON.stringify(body)}`);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
