import { nothingReported } from "./machine.ts";
import type { Participant } from "./participant.ts";
import { Pace } from "./placement/pace.ts";

type BlankCounters = Pick<
  Participant,
  | "machine"
  | "active"
  | "startedMs"
  | "runningFor"
  | "queued"
  | "awaited"
  | "pace"
  | "reported"
  | "overloadedUntilMs"
  | "isCongested"
>;

/** What a hub counts and measures of a participant, before its first request there. */
export function blankCounters(): BlankCounters {
  return {
    machine: undefined,
    active: 0,
    startedMs: [],
    runningFor: [],
    queued: 0,
    awaited: 0,
    pace: new Pace(),
    reported: nothingReported,
    overloadedUntilMs: undefined,
    isCongested: false,
  };
}
