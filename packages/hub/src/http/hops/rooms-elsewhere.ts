import {
  type Room,
  RoomListResponse,
  timeoutSignal,
  type UnreachableHub,
  type World,
} from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import type { HopHub } from "../../hop/dial.ts";

/** Another hub of the cluster. */
export interface OtherHub extends HopHub {
  /** where clients reach it */
  advertiseUrl: string;
}

/** The other hubs, and how this one asks them what only they know. */
export interface OtherHubs {
  world: World;
  /** requests not known to have ended, by id */
  list(): readonly OtherHub[];
  /** A request of this hub, over a hop. @throws when there is no response, also when `signal` ends it */
  get(hub: HopHub, path: string, signal: AbortSignal): Promise<IncomingMessage>;
  /** A hub that does not respond for so long is unreachable. */
  answerMs: number;
}

/** The rooms of other hubs. */
export interface RoomsElsewhere {
  /** those with participants, by code, as their homes have them */
  rooms: ReadonlyMap<string, Room>;
  /** by id */
  unreachable: readonly UnreachableHub[];
}

/** 1,000 rooms take some 300 KiB. */
const maxListBytes = 8 * 1024 * 1024;

/** Asks all hubs at the same time for the rooms that they run. Never rejects. */
export async function roomsElsewhere(others: OtherHubs): Promise<RoomsElsewhere> {
  const hubs = others.list();
  // Whatever the reason is, the list names the hub.
  const lists = await Promise.all(hubs.map((hub) => roomsOf(hub, others).catch(() => undefined)));
  const found = lists.flatMap((rooms = []) => rooms.map((room) => [room.code, room] as const));
  const silent = hubs.filter((_hub, index) => lists[index] === undefined);
  const unreachable = silent.map(({ hubId, advertiseUrl }) => ({ hubId, url: advertiseUrl }));
  return { rooms: new Map(found), unreachable };
}

async function roomsOf(hub: OtherHub, others: OtherHubs): Promise<Room[]> {
  const signal = timeoutSignal(others.world, others.answerMs);
  const response = await others.get(hub, "/v1/rooms", signal);
  let text = "";
  for await (const part of response.setEncoding("utf8")) {
    text += part;
    if (text.length > maxListBytes) throw new Error("the list of rooms is too long");
  }
  return RoomListResponse.parse(JSON.parse(text)).rooms;
}
