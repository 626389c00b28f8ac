import type { HubIdentity } from "../../domain/hub-identity.ts";
import {
  entryOf,
  type Home,
  type HomeCommand,
  type HomeInput,
  isSame,
  NO_HOME,
  type Offer,
  type RoomHomeState,
  type StoredHome,
  stepHome,
} from "./room-home.ts";

/**
 * What a hub keeps of one room's home: its state, and what has become of the commands. Data alone: `home-states.ts` does
 * what the effects say, and reports what comes of it.
 */
export interface HomeRecord {
  state: RoomHomeState;
  /**
   * The latest look at the directory: an earlier reply may be older than its cause. A failed one is repeated by `retry`.
   * `isOvertaken`: the watch has reported an entry since.
   */
  read: { number: number; hasFailed: boolean; isOvertaken: boolean } | undefined;
  /** The registrations could not be read; `offer`: its snapshot could not be taken. */
  unloaded: { offer: Offer | undefined } | undefined;
  /** A write was refused since the last `retry`. */
  isRefused: boolean;
  /** The epoch of the home that this hub has handed the room to, with all that it knew. */
  given: number | undefined;
}

export type HomeEvent =
  | HomeInput
  /** What the directory holds is of interest. */
  | { kind: "look" }
  /** The reply to a read, and a read without one. */
  | { kind: "replied"; read: number; stored: StoredHome | undefined }
  | { kind: "unread"; read: number }
  /** The registrations, or the snapshot, are here for the home of that epoch; or the directory was away. */
  | { kind: "taken"; epoch: number }
  | { kind: "untaken"; epoch: number; offer: Offer | undefined }
  /** Some time has passed. */
  | { kind: "retry"; isUp: boolean };

export type HomeEffect =
  | Exclude<HomeCommand, { kind: "read" }>
  /** Reported as `replied` or `unread` of that number. */
  | { kind: "read"; number: number };

interface HomeTurn {
  record: HomeRecord;
  effects: readonly HomeEffect[];
}

export const NO_RECORD: HomeRecord = {
  state: NO_HOME,
  read: undefined,
  unloaded: undefined,
  isRefused: false,
  given: undefined,
};

/** What follows of an event. @param number - higher than that of any event before: names the read that it begins */
export function advance(
  record: HomeRecord,
  event: HomeEvent,
  self: HubIdentity,
  number: number,
): HomeTurn {
  const step = (from: HomeRecord, input: HomeInput) => stepRecord(from, input, self, number);
  switch (event.kind) {
    case "look":
      return record.read === undefined ? read(still(record), number) : still(record);
    case "replied": {
      if (record.read?.number !== event.read) return still(record);
      // What is older than a report may have been on its way before it.
      if (record.read.isOvertaken && (event.stored?.home.epoch ?? 0) < entryOf(record.state))
        return read(still(record), number);
      const input = { kind: "stored", stored: event.stored, isRead: true } as const;
      return step({ ...record, read: undefined }, input);
    }
    case "unread":
      if (record.read?.number !== event.read) return still(record);
      return still({ ...record, read: { ...record.read, hasFailed: true } });
    case "taken":
      return isLoading(record, event.epoch) ? step(record, { kind: "loaded" }) : still(record);
    case "untaken":
      if (!isLoading(record, event.epoch)) return still(record);
      return still({ ...record, unloaded: { offer: event.offer } });
    case "retry":
      return retry({ ...record, isRefused: false }, event.isUp, number);
    case "directoryUp":
      // Of homes the watch has said what changed.
      return repeat(isUnsettled(record.state) ? step(record, event) : still(record), number);
    case "suspended": {
      // A reply on its way is too old.
      const isReading = record.read?.hasFailed === false;
      const turn = step(isReading ? { ...record, read: undefined } : record, event);
      return isReading && turn.record.read === undefined ? read(turn, number) : turn;
    }
    case "stored":
      return step(event.isRead ? record : overtake(record), event);
    default:
      return step(record, event);
  }
}

/** Whether something is under way, or has to be tried again. */
export function isUnderWay({ state, read, unloaded, isRefused }: HomeRecord): boolean {
  return isUnsettled(state) || read !== undefined || unloaded !== undefined || isRefused;
}

/** A room that is known nowhere takes no memory. */
export function isNothing(record: HomeRecord): boolean {
  return isUnknown(record.state) && !isUnderWay(record);
}

export function isLoading({ state }: HomeRecord, epoch: number): boolean {
  return state.kind === "loading" && state.stored.home.epoch === epoch;
}

/**
 * Whether a registration may be confirmed that was written before the directory named this home: a hub that took the room
 * over may have read without it, also this one.
 *
 * @param since - the epoch of the home that has it
 */
export function mayConfirm(
  { given }: HomeRecord,
  home: Home,
  self: HubIdentity,
  since: number | undefined,
): boolean {
  if (home.epoch === since) return isSame(home, self);
  return given === home.epoch && since !== undefined && home.epoch === since + 1;
}

function stepRecord(
  record: HomeRecord,
  input: HomeInput,
  self: HubIdentity,
  number: number,
): HomeTurn {
  const { state, commands } = stepHome(record.state, input, self);
  // An entry that cannot be read is refused each time: at once would repeat that without a pause.
  const hasFailed = input.kind === "unanswered" || record.isRefused;
  const next: HomeRecord = {
    state,
    read: record.read,
    unloaded: state.kind === "loading" ? record.unloaded : undefined,
    isRefused: record.isRefused || input.kind === "refused",
    given: state.kind !== "elsewhere" || isUnknown(state) ? undefined : record.given,
  };
  const effects: HomeEffect[] = [];
  for (const command of commands) {
    if (command.kind === "load") next.unloaded = undefined;
    if (command.kind === "notify") next.given = command.stored.home.epoch;
    if (command.kind === "read") next.read = { number, hasFailed, isOvertaken: false };
    if (command.kind !== "read") effects.push(command);
    else if (!hasFailed) effects.push({ kind: "read", number });
  }
  return { record: next, effects };
}

function retry(record: HomeRecord, isUp: boolean, number: number): HomeTurn {
  if (!isUp) return still(record);
  const turn = repeat(still(record), number);
  if (record.unloaded === undefined) return turn;
  const { offer } = record.unloaded;
  return {
    record: { ...turn.record, unloaded: undefined },
    effects: [...turn.effects, { kind: "load", offer }],
  };
}

/** Reads once more what could not be read. */
function repeat(turn: HomeTurn, number: number): HomeTurn {
  return turn.record.read?.hasFailed === true ? read(turn, number) : turn;
}

function read({ record, effects }: HomeTurn, number: number): HomeTurn {
  return {
    record: { ...record, read: { number, hasFailed: false, isOvertaken: false } },
    effects: [...effects, { kind: "read", number }],
  };
}

function overtake(record: HomeRecord): HomeRecord {
  return record.read === undefined
    ? record
    : { ...record, read: { ...record.read, isOvertaken: true } };
}

function still(record: HomeRecord): HomeTurn {
  return { record, effects: [] };
}

function isUnsettled(state: RoomHomeState): boolean {
  return state.kind === "home" ? state.isRestoring : state.kind !== "elsewhere";
}

function isUnknown(state: RoomHomeState): boolean {
  if (state.kind !== "elsewhere") return false;
  return state.stored === undefined && state.offer === undefined && state.seen === 0;
}
