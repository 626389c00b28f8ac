import type { ParticipantSummary, Room } from "@roomhub/protocol";
import type { Bucket } from "./figures/buckets.ts";
import type { LogLine } from "./log.ts";
import type { EndedRequest } from "./ended-requests.ts";
import type { LostConnections } from "./lost-connections.ts";
import type { RunningRequest } from "./running-requests.ts";
import type { WatchedTime } from "./watched.ts";

/** What is known of one room. Immutable: a change is a new object, and parts that did not change stay the same objects. */
export interface RoomState {
  /** whether participants and requests have been read from the hub's lists at least once */
  readonly isSynced: boolean;
  /** the periods in which its events were read, oldest first; nothing is known of other times */
  readonly watched: readonly WatchedTime[];
  /** undefined until `room.created` or `resync` gives it */
  readonly room: Room | undefined;
  /** by id, in join order */
  readonly participants: ReadonlyMap<string, ParticipantSummary>;
  /** by request id, in order of arrival */
  readonly running: ReadonlyMap<string, RunningRequest>;
  /** participants whose tunnels are interrupted */
  readonly lost: LostConnections;
  /** oldest first, at most 500 */
  readonly recent: readonly EndedRequest[];
  /** of the last 15 minutes, oldest first; buckets without any event are left out */
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
