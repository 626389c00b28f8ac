import { availableParallelism } from "node:os";
import { pauseMs } from "../../tests/faults/figure.ts";
import type { ChangeRates } from "./change-maker.ts";
import { type Lab, openLab, settleMs, type Window, windowMs } from "./lab.ts";
import type { ClusterLoad, CostName, Figures, MeasuredPoint } from "./points.ts";
import { quantile } from "./queue.ts";
import { type FittedCosts, fitCosts, turnsPerSecond, type WorkSeen } from "./turns.ts";

/** What of the directory and the bus can be measured on one machine. */
export interface MeasuredDirectory {
  costs: Partial<Record<CostName, number>>;
  points: MeasuredPoint[];
}

/** Of the bus: events of a room within it share a message. */
const parcelMs = 10;

/** About four minutes. */
export async function measureDirectory(): Promise<MeasuredDirectory> {
  const few = await measureFew();
  const wide = await measureWide();
  const costs = costsFrom(
    few,
    fitCosts([...few.hub, ...wide.hub]),
    fitCosts([...few.nats, ...wide.nats]),
  );
  return { costs, points: await measurePoints() };
}

const none: ChangeRates = { participants: 0, changesPerSecond: 0, eventsPerSecond: 0 };

/** The work of one hub, and of nats-server, at several rates, without what it costs to make changes. */
interface Seen {
  /** units: changes made, changes seen, events made, events of others, writes to watchers */
  hub: WorkSeen[];
  /** units: changes taken, copies given, messages with events, copies of those */
  nats: WorkSeen[];
}

/** @param rates - of all processes together, which have one directory each */
async function changesAt(
  lab: Lab,
  idle: Window,
  rates: readonly number[],
  everywhere: boolean,
): Promise<Seen> {
  const seen: Seen = { hub: [], nats: [] };
  const hubs = lab.hubs.length;
  for (const rate of rates) {
    const makers = everywhere ? hubs + 1 : 1;
    const wish = { participants: 400, changesPerSecond: rate / makers, eventsPerSecond: 0 };
    const before = everywhere ? await lab.steady({ ...wish, isDry: true }, true) : idle;
    const window = await lab.steady(wish, everywhere);
    const own = perSecond(window.made);
    const made = everywhere ? own : 0;
    const all = own * makers;
    seen.hub.push({
      micros: microsPerSecond(window.hubMs - before.hubMs) / hubs,
      units: [made, all, 0, 0, 0],
      // A change begins, and is acknowledged.
      arrivals: 2 * made + all,
      queues: 1,
      processesPerCore: processesPerCore(hubs),
    });
    seen.nats.push({
      micros: microsPerSecond(window.natsMs - idle.natsMs),
      units: [all, all * (hubs + 1), 0, 0],
      arrivals: all * (1 + 2 / (hubs + 1)),
      queues: hubs + 1,
      processesPerCore: processesPerCore(hubs),
    });
  }
  return seen;
}

/** The hubs, this process and nats-server. */
function processesPerCore(hubs: number): number {
  return Math.max(1, (hubs + 2) / availableParallelism());
}

function perSecond(count: number): number {
  return (count * 1_000) / windowMs;
}

function microsPerSecond(cpuMs: number): number {
  return Math.max(1, (cpuMs * 1_000_000) / windowMs);
}

interface Few extends Seen {
  remoteParticipantBytes: number;
  baseLagMs: number;
  idle: Window;
  /** µs of an event to one more subscriber */
  shownToMore: number;
}

/** One hub beside this process. */
async function measureFew(): Promise<Few> {
  await using lab = await openLab(1);
  const [hub] = lab.hubs;
  if (hub === undefined) throw new Error("no hub");
  await pauseMs(3_000);
  const emptyBytes = await hub.call("heapBytes");
  const many = 4_000;
  await lab.run({ ...none, participants: many });
  await pauseMs(settleMs);
  const remoteParticipantBytes = ((await hub.call("heapBytes")) - emptyBytes) / many;
  // Code that has not run often is slow.
  const warming = { participants: 400, changesPerSecond: 600, eventsPerSecond: 600 };
  for (let at = 0; at < 3; at++) await lab.window(warming, true);
  const idle = await lab.steady(none);
  const slow = await lab.steady({ ...warming, changesPerSecond: 60, eventsPerSecond: 0 });
  const watched = await changesAt(lab, idle, [60, 300, 1_200], false);
  const made = await changesAt(lab, idle, [300, 1_200], true);

  const events = await eventsAt(lab, idle, [150, 1_200]);
  return {
    hub: [...watched.hub, ...made.hub, ...events.hub],
    nats: [...watched.nats, ...made.nats, ...events.nats],
    ...{ remoteParticipantBytes, idle, baseLagMs: quantile(slow.lagsMs, 0.5) },
    shownToMore: events.shownToMore,
  };
}

/** Made by both without a watcher, then by this process alone with one. */
async function eventsAt(
  lab: Lab,
  idle: Window,
  rates: readonly number[],
): Promise<Seen & Pick<Few, "shownToMore">> {
  const seen: Seen = { hub: [], nats: [] };
  const note = (hubMs: number, window: Window, makers: number, copies: number) => {
    const events = perSecond(window.made);
    const parcels = turnsPerSecond(events, parcelMs);
    const own = makers === 2 ? events : 0;
    const shared = { arrivals: parcels, processesPerCore: processesPerCore(1) };
    seen.hub.push({
      ...{ ...shared, micros: microsPerSecond(hubMs), queues: 1 },
      units: [0, 0, own, copies * events, copies * parcels],
    });
    seen.nats.push({
      ...{ ...shared, micros: microsPerSecond(window.natsMs - idle.natsMs), queues: 2 },
      units: [0, 0, makers * parcels, copies * parcels],
    });
  };
  for (const rate of rates) {
    const rest = { ...none, eventsPerSecond: rate / 2 };
    const dry = await lab.steady({ ...rest, isDry: true }, true);
    const told = await lab.steady(rest, true);
    note(told.hubMs - dry.hubMs, told, 2, 0);
  }
  await lab.subscribe(1);
  let heard = idle;
  for (const eventsPerSecond of rates) {
    await lab.window({ ...none, eventsPerSecond });
    heard = await lab.steady({ ...none, eventsPerSecond });
    note(heard.hubMs - idle.hubMs, heard, 1, 1);
  }
  await lab.subscribe(50);
  const more = await lab.steady({ ...none, eventsPerSecond: rates.at(-1) ?? 0 });
  const shownToMore = microsPerSecond(more.hubMs - heard.hubMs) / (50 * perSecond(more.made));
  return { ...seen, shownToMore };
}

/** Four hubs beside this process: more copies of each change. */
async function measureWide(): Promise<Seen> {
  await using lab = await openLab(4);
  for (let at = 0; at < 3; at++)
    await lab.window({ participants: 400, changesPerSecond: 200, eventsPerSecond: 0 }, true);
  const idle = await lab.steady(none);
  const watched = await changesAt(lab, idle, [300], false);
  const made = await changesAt(lab, idle, [600], true);
  return { hub: [...watched.hub, ...made.hub], nats: [...watched.nats, ...made.nats] };
}

function costsFrom(
  { idle, remoteParticipantBytes, baseLagMs, shownToMore }: Few,
  hub: FittedCosts,
  nats: FittedCosts,
): Partial<Record<CostName, number>> {
  const [put = 0, watchUpdate = 0, busPublish = 0, busReceive = 0, sseFlush = 0] = hub.units;
  const [natsPut = 0, natsDelivery = 0, natsPublish = 0, natsParcelDelivery = 0] = nats.units;
  return positive({
    hubSecond: microsPerSecond(idle.hubMs),
    ...{ remoteParticipantBytes, baseLagMs },
    ...{ turn: hub.turn.micros, turnDelayMs: hub.turn.delayMs, put, watchUpdate },
    ...{ natsTurn: nats.turn.micros, natsTurnDelayMs: nats.turn.delayMs, natsPut, natsDelivery },
    ...{ busPublish, busReceive, sseFlush, natsPublish, natsParcelDelivery },
    sseDelivery: shownToMore,
  });
}

/** What is lost in the noise of the machine counts as next to nothing. */
function positive(costs: Partial<Record<CostName, number>>): Partial<Record<CostName, number>> {
  const entries = Object.entries(costs).map(([name, value]) => [name, Math.max(value, 0.1)]);
  return Object.fromEntries(entries) as Partial<Record<CostName, number>>;
}

/** Hubs that all do the same; this process is one of them, and is not measured. */
async function measurePoints(): Promise<MeasuredPoint[]> {
  const points: MeasuredPoint[] = [];
  for (const [count, changesPerSecond, eventsPerSecond] of [
    [1, 800, 0],
    [2, 600, 900],
    [3, 1_000, 1_600],
  ] as const) {
    await using lab = await openLab(count);
    for (let at = 0; at <= count; at++) await lab.subscribe(1, at);
    const hubs = count + 1;
    const rates = {
      participants: 500,
      changesPerSecond: changesPerSecond / hubs,
      eventsPerSecond: eventsPerSecond / hubs,
    };
    for (let at = 0; at < 3; at++) {
      const busy = { ...rates, changesPerSecond: 400, eventsPerSecond: eventsPerSecond * 2 };
      await lab.window(busy, true);
    }
    const idle = await lab.steady(none);
    const dry = await lab.steady({ ...rates, isDry: true }, true);
    const seen = await lab.steady(rates, true);
    const load: ClusterLoad = {
      ...{ hubs, groups: 1, natsCores: 2, rooms: 1, participants: 500 * hubs },
      ...{ changesPerSecond, requestsPerSecond: 0, chunksPerRequest: 0 },
      // Each hub has a subscriber.
      ...{
        otherEventsPerSecond: eventsPerSecond,
        subscribersPerRoom: hubs,
        isSpread: true,
        isWarmthShared: false,
        processesPerCore: processesPerCore(count),
      },
    };
    const figures: Partial<Figures> = {
      // Without what it costs to make changes.
      hubCpuShare: (seen.hubMs - dry.hubMs + idle.hubMs) / count / windowMs,
      natsCpuShare: seen.natsMs / windowMs,
    };
    points.push({
      name: `${hubs} hubs, ${changesPerSecond} changes and ${eventsPerSecond} events a second`,
      load,
      seen: figures,
    });
  }
  return points;
}
