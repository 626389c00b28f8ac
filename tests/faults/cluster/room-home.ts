import { NatsDirectory } from "@roomhub/hub";
import { until } from "../../support/waiting.ts";
import { must } from "../figure.ts";
import { sharedNowMs } from "../shared-clock.ts";
import type { ClusterHub } from "./cluster-hub.ts";
import type { Cluster } from "./cluster.ts";

/** One home of a room. */
interface Tenure {
  hub: ClusterHub;
  epoch: number;
  /** which life of the hub */
  bootId: string;
  /** on the shared clock: when the directory said so */
  sinceMs: number;
}

/** The homes that the room of a cluster has had, by what the directory says. */
export class RoomHome implements AsyncDisposable {
  /** the last one is the home now */
  readonly #tenures: Tenure[] = [];
  readonly #directory: NatsDirectory;

  private constructor(directory: NatsDirectory) {
    this.#directory = directory;
  }

  static async watch(cluster: Cluster): Promise<RoomHome> {
    const hubs = new Map<string, ClusterHub>();
    // A hub lists itself first.
    for (const hub of cluster.hubs) hubs.set((await hub.api.listHubs())[0]?.hubId ?? "", hub);
    const directory = new NatsDirectory({ servers: [cluster.nats.url] });
    const home = new RoomHome(directory);
    const ignore = () => undefined;
    await directory.open({
      homeChanged(code, entry) {
        const hub = hubs.get(entry?.hubId ?? "");
        if (code !== cluster.code || entry === undefined || hub === undefined) return;
        home.#tenures.push({ ...entry, hub, sinceMs: sharedNowMs() });
      },
      ...{ roomChanged: ignore, registrationsLost: ignore, hubSeen: ignore, stateChanged: ignore },
    });
    return home;
  }

  get now(): ClusterHub {
    return this.tenure.hub;
  }

  get tenure(): Tenure {
    const last = this.#tenures.at(-1);
    if (last === undefined) throw new Error("the room has no home");
    return last;
  }

  /** Resolves with the next home. */
  async after({ epoch }: Tenure, timeoutMs = 60_000): Promise<Tenure> {
    const look = () => this.tenure;
    return until("the room's next home", look, (next) => next.epoch > epoch, timeoutMs);
  }

  /** Each home has an epoch of its own, and they rise. */
  mustHaveRisen(): void {
    const epochs = this.#tenures.map(({ epoch }) => epoch);
    const risen = epochs.every((epoch, index) => epoch > (epochs[index - 1] ?? 0));
    must(risen, `the room's homes had the epochs ${epochs.join(", ")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#directory.close();
  }
}
