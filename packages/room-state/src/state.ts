import type { ParticipantSummary, Room } from "@roomhub/protocol";
import type { Bucket } from "./buckets.ts";
import type { LogLine } from "./log.ts";
import type { EndedRequest } from "./ended-requests.ts";
import type { LostConnections } from "./lost-connections.ts";
import type { RunningRequest } from "./running-requests.ts";
import type { WatchedTime } from "./watched.ts";

/** What is known of one room. Immutable: a change is a new object, and parts that did not change stay the same objects. */
export interface RoomState {
  /** whether participants and requests have been read from the hub's lists since the start */
  readonly isSynced: boolean;
  /** when its events were read, oldest first: of any other time nothing is known */
  readonly watched: readonly WatchedTime[];
  /** undefined until its `room.created` was seen or set by `resync` */
  readonly room: Room | undefined;
  /** by id, in join order */
  readonly participants: ReadonlyMap<string, ParticipantSummary>;
  /** by request id, in order of arrival */
  readonly running: ReadonlyMap<string, RunningRequest>;
  /** participants whose requests wait for a lost connection to come back */
  readonly lost: LostConnections;
  /** oldest first, at most 500 */
  readonly recent: readonly EndedRequest[];
  /** oldest first, without those in which nothing happened; at most 15 minutes */
  readonly buckets: readonly Bucket[];
  /** oldest first, at most 1,000 */
  readonly log: readonly LogLine[];
  /** how many lines the log has had */
  readonly logged: number;
}

/** The state before the first event. */
export function initialState(): RoomState {
  return {
    isSynced: false,
    watched: [],
    room: undefined,
    participants: new Map(),
    running: new Map(),
    lost: new Map(),
    recent: [],
    buckets: [],
    log: [],
    logged: 0,
  };
}
