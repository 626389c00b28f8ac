import { type RequestSummary, Roster, type RosterMember } from "@roomhub/protocol";
import type { HubError } from "../errors.ts";
import type { QueueEntry, RoomQueues } from "./queue.ts";
import { requestSummary, type RequestStatus } from "./request-facts.ts";

/** A request that has begun and not yet settled. */
export interface RunningRequest extends RosterMember {
  /** The status of the request; undefined for another room, and for a request without events. */
  statusIn(roomCode: string): RequestStatus | undefined;
  /** The room has another home: a waiting request is sent there. */
  roomLeft(roomCode: string): void;
  /** Looks at its deadlines. */
  tick(nowMs: number): void;
  /** Ends the request when the hub stops. */
  cut(error: HubError): void;
}

/** Every request between its arrival and its end. One sweep looks at all deadlines, so no request owns a timer. */
export class InFlight extends Roster<RunningRequest> {
  /** The room has another home: waiting requests are sent there, the oldest first. */
  roomLeft(roomCode: string): void {
    const requests: RunningRequest[] = [];
    this.forEach((request) => void requests.push(request));
    // The roster visits the latest first.
    for (const request of requests.reverse()) request.roomLeft(roomCode);
  }

  sweep(nowMs: number): void {
    this.forEach((request) => request.tick(nowMs));
  }

  /** @returns how many were cut */
  cutAll(error: HubError): number {
    const count = this.size;
    this.forEach((request) => request.cut(error));
    return count;
  }

  /** The requests of one room that have events, the oldest first. */
  statusesIn(roomCode: string): RequestStatus[] {
    const found: RequestStatus[] = [];
    this.forEach((request) => {
      const status = request.statusIn(roomCode);
      if (status !== undefined) found.push(status);
    });
    // The roster visits the latest first.
    return found.reverse().sort((one, other) => one.startedMs - other.startedMs);
  }
}

/** What a list of requests needs. */
export interface RequestListDeps {
  dispatch: { inFlight: InFlight; queues: RoomQueues; nowMs: () => number };
  /** epoch ms */
  wallMs: () => number;
}

/** The requests of a room that run or wait now, the oldest first. Contract §5, "Detail". */
export function listRequests(
  { dispatch: { inFlight, queues, nowMs }, wallMs }: RequestListDeps,
  roomCode: string,
): RequestSummary[] {
  const places = new Map<QueueEntry, number>();
  for (const [index, entry] of queues.waitingIn(roomCode).entries()) places.set(entry, index + 1);
  const epochOffsetMs = wallMs() - nowMs();
  const epochMs = (ms: number) => Math.round(ms + epochOffsetMs);
  return inFlight.statusesIn(roomCode).map((status) => requestSummary(status, places, epochMs));
}
