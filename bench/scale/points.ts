import { readFile } from "node:fs/promises";

/** Where a cost comes from. A `goal` or an `estimate` is a number to begin with, until it is measured. */
type CostSource = "measured" | "goal" | "estimate";

/** One unit of work each, in µs of CPU, unless the name has another unit. */
export const COSTS = {
  localRequest: "JSON request and response of 1 KB, served by the hub that holds the participant",
  localChunk: "streamed chunk of such a response",
  hopRequest: "what the hop adds to a request, both hubs together",
  hopChunk: "what the hop adds to a chunk, both hubs together",
  put: "change of an entry, at the hub that makes it",
  watchUpdate: "change of an entry, at each hub that sees it",
  busPublish: "event, at the hub where it occurs",
  busReceive: "event of another hub, at each hub with a subscriber of the room, shown to one",
  sseFlush: "events of a room in 10 ms, written at a hub where it is watched",
  sseDelivery: "event to each further subscriber",
  noticeSend: "notice on a link, at its sender",
  noticeReceive: "notice on a link, at its receiver",
  linkSecond: "one second of one idle link, in one direction",
  natsPut: "change of an entry, in nats-server",
  natsPublish: "message with events, in nats-server",
  natsParcelDelivery: "the same to each hub that receives it, in nats-server",
  natsDelivery: "change to each hub that receives it, in nats-server",
  hubSecond: "one second of an idle hub",
  turn: "one turn of a hub: what it handles in the same turn shares it",
  turnDelayMs: "ms in which what arrives at a hub is handled in the same turn",
  natsTurn: "the same of nats-server",
  natsTurnDelayMs: "ms of nats-server, likewise",
  baseLagMs: "ms from a change to its sight at another hub, without load",
  hubBytes: "bytes of a hub without participants",
  remoteParticipantBytes: "bytes of a participant that another hub owns",
  ownParticipantBytes: "bytes of a participant with its tunnel",
  linkBytes: "bytes of a link",
  entryBytes: "bytes of an entry on the wire",
  eventBytes: "bytes of an event on the wire",
} as const;
export type CostName = keyof typeof COSTS;
export type Costs = Record<CostName, number>;

/** What a cluster has to do. Everything is spread evenly over its hubs. */
export interface ClusterLoad {
  hubs: number;
  /** of hubs, each with its own NATS and its own share of the rooms; hubs of different groups have no links */
  groups: number;
  natsCores: number;
  rooms: number;
  participants: number;
  /** entries that change */
  changesPerSecond: number;
  requestsPerSecond: number;
  /** of them; what follows from clients at random hubs when absent */
  forwardedShare?: number | undefined;
  /** 0 for responses in one piece */
  chunksPerRequest: number;
  /** events that are no part of a request */
  otherEventsPerSecond: number;
  subscribersPerRoom: number;
  /** of the machines that a load was run on; 1 when absent */
  processesPerCore?: number | undefined;
  /** the subscribers of a room are at as many hubs as there can be, not at random ones */
  isSpread: boolean;
  /** hubs, beside the entry hub, that learn which participant has a request's prompt */
  isWarmthShared: boolean;
}

/** What the simulation says of a load, and what can be measured of it. */
export interface Figures {
  /** of one core, of the busiest resource of each hub */
  hubCpuShare: number;
  /** of one core */
  natsCpuShare: number;
  /** from a change to its sight at another hub */
  lagP99Ms: number;
  /** bytes of one hub */
  hubBytes: number;
}

/** A load that was run, and what was seen. */
export interface MeasuredPoint {
  name: string;
  load: ClusterLoad;
  seen: Partial<Figures>;
}

export interface Points {
  /** what it was measured on */
  machine: string;
  costs: Record<CostName, { value: number; source: CostSource }>;
  points: MeasuredPoint[];
}

/** @throws Error that names a cost that is missing */
export async function readPoints(path: string): Promise<Points> {
  const points = JSON.parse(await readFile(path, "utf8")) as Points;
  for (const name of Object.keys(COSTS) as CostName[]) {
    const value: unknown = points.costs[name]?.value;
    if (typeof value !== "number" || !Number.isFinite(value))
      throw new Error(`${path} has no cost ${name}: ${COSTS[name]}`);
  }
  return points;
}

export function valuesOf({ costs }: Points): Costs {
  const values = Object.entries(costs).map(([name, { value }]) => [name, value]);
  return Object.fromEntries(values) as Costs;
}
