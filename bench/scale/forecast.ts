import { seededRandom } from "../room/random.ts";
import type { ClusterLoad, Costs, Figures } from "./points.ts";
import { quantile, simulateQueue } from "./queue.ts";
import { type ClusterWork, workOf } from "./work.ts";

export interface Forecast extends Figures {
  work: ClusterWork;
  /** CPU of a hub by what it is for, of one core */
  hubCpu: Record<string, number>;
  /** that the NATS of a group sends */
  natsBytesPerSecond: number;
  natsMessagesPerSecond: number;
  /** that work waits at a hub before it begins */
  hubWaitP99Ms: number;
}

const seed = 20_260_101;

/**
 * One hub of the cluster and the NATS of its group, simulated as queues; the other hubs are what reaches these two. All hubs
 * are alike, which is why one is enough, and why a thousand take no longer than three.
 */
export function forecast(load: ClusterLoad, costs: Costs): Forecast {
  const random = seededRandom(seed);
  const work = workOf(load, costs);
  const hub = simulateQueue(work.hub, random);
  // Its cores share the copies of one change.
  const nats = simulateQueue(
    work.nats.map(({ perSecond, micros, copies, copyMicros }) => ({
      perSecond,
      micros: (micros + copies * copyMicros) / load.natsCores,
    })),
    random,
  );
  const members = load.hubs / load.groups;
  const fanOutMicros = (members * costs.natsDelivery) / load.natsCores;
  const lags = Array.from({ length: 20_000 }, () => {
    const waitMicros = draw(nats.waits, random) + draw(hub.waits, random);
    return costs.baseLagMs + (waitMicros + random() * fanOutMicros) / 1_000;
  }).sort((one, other) => one - other);
  const isOver = hub.share >= 1 || nats.share >= 1;
  return {
    work,
    hubCpu: cpuByName(work),
    hubCpuShare: hub.share,
    natsCpuShare: nats.share * load.natsCores,
    lagP99Ms: isOver ? Number.POSITIVE_INFINITY : quantile(lags, 0.99),
    hubWaitP99Ms: hub.share >= 1 ? Number.POSITIVE_INFINITY : quantile(hub.waits, 0.99) / 1_000,
    hubBytes: bytesOf(load, costs, work),
    natsMessagesPerSecond: sum(work.nats, ({ perSecond, copies }) => perSecond * copies),
    natsBytesPerSecond: sum(work.nats, ({ perSecond, copies, copyBytes }) => {
      return perSecond * copies * copyBytes;
    }),
  };
}

function bytesOf(
  { participants, hubs, groups }: ClusterLoad,
  costs: Costs,
  { links }: ClusterWork,
) {
  const own = participants / hubs;
  const remote = participants / groups - own;
  return (
    costs.hubBytes +
    own * costs.ownParticipantBytes +
    remote * costs.remoteParticipantBytes +
    links * costs.linkBytes
  );
}

function cpuByName({ hub }: ClusterWork): Record<string, number> {
  const shares: Record<string, number> = {};
  for (const { name, perSecond, micros } of hub)
    shares[name] = (shares[name] ?? 0) + (perSecond * micros) / 1e6;
  return shares;
}

function draw(values: readonly number[], random: () => number): number {
  return values[Math.floor(random() * values.length)] ?? 0;
}

function sum<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
