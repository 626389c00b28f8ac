import type { ClusterLoad, Costs } from "./points.ts";
import { turnsPerSecond } from "./turns.ts";

/** Work that comes at random, at a mean rate. */
interface Work {
  name: string;
  perSecond: number;
  micros: number;
}

/** What one change or event means for nats-server: itself, and a copy to each hub that receives it. */
interface FanOut {
  name: string;
  perSecond: number;
  micros: number;
  copies: number;
  copyMicros: number;
  copyBytes: number;
}

const presenceSeconds = 3;
/** of a participant, on each link: the most reports of its load */
const mostLoadNotices = 10;
const eventsPerRequest = 2;
/** Events of a room at one hub share a message of the bus; notices to one hub likewise. */
const parcelMs = 10;
const noticeMs = 25;

export interface ClusterWork {
  /** of one hub */
  hub: Work[];
  /** of the NATS of one group */
  nats: FanOut[];
  /** that one hub has open, those it dialled and those it accepted */
  links: number;
  /** that a hub receives and sends, per second */
  noticesPerSecond: number;
}

/** What each hub of a group has to do, and its NATS. */
export function workOf(load: ClusterLoad, costs: Costs): ClusterWork {
  const members = load.hubs / load.groups;
  const others = members - 1;
  const ofHub = (total: number) => total / load.hubs;
  const ofGroup = (total: number) => total / load.groups;
  const requests = ofHub(load.requestsPerSecond);
  const forwarded = load.forwardedShare ?? others / members;
  const beats = 1 / presenceSeconds;
  const crowding = load.processesPerCore ?? 1;

  const events = eventsPerRequest * load.requestsPerSecond + load.otherEventsPerSecond;
  const { hearing, isHeard, isAt } = audienceOf(load, members);
  const heard = ofHub(events) * hearing;
  const rooms = load.rooms / load.groups;
  const parcels = rooms * turnsPerSecond(ofHub(events) / rooms, parcelMs);
  const flushes = rooms * isAt * turnsPerSecond(ofGroup(events) / rooms, parcelMs);
  const shown = ofHub(events) * load.subscribersPerRoom;

  const { participants } = load;
  const requestsOfEach = participants === 0 ? 0 : load.requestsPerSecond / participants;
  // At the beginning and at the end of a request.
  const loads = participants === 0 ? 0 : Math.min(mostLoadNotices, 2 * requestsOfEach);
  const loadNotices = ofHub(participants) * loads * others;
  const warmNotices = load.isWarmthShared ? requests * others : 0;
  const notices = loadNotices + warmNotices;
  const noticeParcels = others === 0 ? 0 : others * turnsPerSecond(notices / others, noticeMs);

  const hub: Work[] = [
    { name: "idle", perSecond: 10, micros: costs.hubSecond / 10 },
    { name: "requests", perSecond: requests, micros: costs.localRequest },
    { name: "chunks", perSecond: requests * load.chunksPerRequest, micros: costs.localChunk },
    // A forwarded request has two halves, at two hubs.
    { name: "hop", perSecond: 2 * requests * forwarded, micros: costs.hopRequest / 2 },
    {
      name: "hop",
      perSecond: 2 * requests * forwarded * load.chunksPerRequest,
      micros: costs.hopChunk / 2,
    },
    { name: "directory", perSecond: ofHub(load.changesPerSecond), micros: costs.put },
    { name: "directory", perSecond: ofGroup(load.changesPerSecond), micros: costs.watchUpdate },
    { name: "presence", perSecond: beats, micros: costs.put },
    { name: "presence", perSecond: others * beats, micros: costs.watchUpdate },
    { name: "events", perSecond: ofHub(events) * isHeard, micros: costs.busPublish },
    { name: "events", perSecond: heard, micros: costs.busReceive },
    { name: "events", perSecond: flushes, micros: costs.sseFlush },
    { name: "events", perSecond: Math.max(0, shown - heard), micros: costs.sseDelivery },
    { name: "notices", perSecond: notices, micros: costs.noticeSend },
    { name: "notices", perSecond: notices, micros: costs.noticeReceive },
    { name: "links", perSecond: 2 * others, micros: costs.linkSecond },
  ];
  const change = { micros: costs.natsPut, copies: members, copyMicros: costs.natsDelivery };
  const nats: FanOut[] = [
    {
      ...{ name: "changes", perSecond: ofGroup(load.changesPerSecond) },
      ...{ ...change, copyBytes: costs.entryBytes },
    },
    { name: "presence", perSecond: members * beats, ...change, copyBytes: 400 },
    {
      ...{ name: "events", perSecond: members * parcels * isHeard, micros: costs.natsPublish },
      ...{ copies: isHeard === 0 ? 0 : hearing / isHeard, copyMicros: costs.natsParcelDelivery },
      copyBytes: parcels === 0 ? 0 : (costs.eventBytes * ofHub(events)) / parcels,
    },
  ];
  // The costs of requests and chunks were measured together with their turns.
  const changes = ofHub(load.changesPerSecond) + beats;
  const seen = ofGroup(load.changesPerSecond) + members * beats;
  // A change begins, and is acknowledged; events leave by a timer.
  const arrivals = 2 * changes + seen + parcels * (isHeard + hearing) + noticeParcels;
  hub.push({
    name: "turns",
    perSecond: turnsPerSecond(arrivals, costs.turnDelayMs * crowding),
    micros: costs.turn,
  });
  // To and from each hub: what changes, its own twice more, and events.
  const passing =
    (members * beats + ofGroup(load.changesPerSecond)) * (1 + 2 / members) +
    parcels * (isHeard + hearing);
  nats.push({
    name: "turns",
    perSecond: members * turnsPerSecond(passing, costs.natsTurnDelayMs * crowding),
    ...{ micros: costs.natsTurn, copies: 0, copyMicros: 0, copyBytes: 0 },
  });
  return { hub, nats, links: 2 * others, noticesPerSecond: 2 * notices };
}

/** Of a room: how likely it is watched at a hub, at another one than that, and at how many others. */
function audienceOf(
  { subscribersPerRoom, isSpread }: ClusterLoad,
  members: number,
): { hearing: number; isHeard: number; isAt: number } {
  const others = members - 1;
  if (isSpread) {
    const isAt = Math.min(1, subscribersPerRoom / members);
    return { hearing: others * isAt, isHeard: Math.min(1, others * isAt), isAt };
  }
  const isAt = 1 - (1 - 1 / members) ** subscribersPerRoom;
  return { hearing: others * isAt, isHeard: 1 - (1 / members) ** subscribersPerRoom, isAt };
}
