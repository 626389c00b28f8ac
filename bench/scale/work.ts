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
const eventsPerRequest = 3;

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
  const forwarded = others / members;
  const beats = 1 / presenceSeconds;

  const events = eventsPerRequest * load.requestsPerSecond + load.otherEventsPerSecond;
  // Hubs with a subscriber of the room, beside the one where the event occurs.
  const hearing =
    others *
    (load.isSpread
      ? Math.min(1, load.subscribersPerRoom / members)
      : 1 - (1 - 1 / members) ** load.subscribersPerRoom);
  const heard = ofHub(events) * hearing;
  const shown = ofHub(events) * load.subscribersPerRoom;

  const { participants } = load;
  const requestsOfEach = participants === 0 ? 0 : load.requestsPerSecond / participants;
  // At the beginning and at the end of a request.
  const loads = participants === 0 ? 0 : Math.min(mostLoadNotices, 2 * requestsOfEach);
  const loadNotices = ofHub(participants) * loads * others;
  const warmNotices = load.isWarmthShared ? requests * others : 0;
  const notices = loadNotices + warmNotices;

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
    { name: "events", perSecond: ofHub(events), micros: costs.busPublish },
    { name: "events", perSecond: heard, micros: costs.busReceive },
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
      ...{ name: "events", perSecond: ofGroup(events), micros: costs.natsPublish },
      ...{ copies: hearing, copyMicros: costs.natsDelivery, copyBytes: costs.eventBytes },
    },
  ];
  // The costs of requests and chunks were measured together with their turns; an event is published in the turn of its cause.
  const changes = ofHub(load.changesPerSecond) + beats;
  const seen = ofGroup(load.changesPerSecond) + members * beats;
  // A change begins, and is acknowledged.
  const arrivals = 2 * changes + seen + heard + notices;
  hub.push({
    name: "turns",
    perSecond: turnsPerSecond(arrivals, costs.turnDelayMs),
    micros: costs.turn,
  });
  const passing = (members * beats + ofGroup(load.changesPerSecond)) * (1 + members);
  nats.push({
    ...{ name: "turns", perSecond: turnsPerSecond(passing, costs.natsTurnDelayMs) },
    ...{ micros: costs.natsTurn, copies: 0, copyMicros: 0, copyBytes: 0 },
  });
  return { hub, nats, links: 2 * others, noticesPerSecond: 2 * notices };
}
