import { HEARTBEAT_INTERVAL_MS, LIMITS } from "@roomhub/protocol";

/** Every duration of a participant, in ms. */
export interface ParticipantTiming {
  heartbeatMs: number;
  /** the driver's beat: pings, wake-up check */
  tickMs: number;
  /** a longer gap between two beats means that the machine slept */
  wakeGapMs: number;
  /** after a sleep, the hub must answer a ping within this */
  wakeAnswerMs: number;
  backoffBaseMs: number;
  backoffMaxMs: number;
  /** a tunnel that lived this long starts the backoff anew */
  stableMs: number;
  /** opening the tunnel, HELLO included */
  dialMs: number;
  hubCallMs: number;
  providerConnectMs: number;
  /** a model server that is ready is looked at so often */
  providerCheckMs: number;
  /** a model server that is down is looked at so often */
  providerRecheckMs: number;
  /** how long a look waits for an answer */
  providerAnswerMs: number;
  /** a model server that loads its model for longer than this is down */
  loadingMs: number;
  drainMs: number;
  leaveMs: number;
}

export const defaultTiming: ParticipantTiming = {
  heartbeatMs: HEARTBEAT_INTERVAL_MS,
  tickMs: 1_000,
  wakeGapMs: 5_000,
  wakeAnswerMs: 3_000,
  backoffBaseMs: 250,
  backoffMaxMs: 15_000,
  stableMs: 30_000,
  dialMs: 15_000,
  hubCallMs: 10_000,
  providerConnectMs: LIMITS.connectMs.default,
  providerCheckMs: 30_000,
  providerRecheckMs: 5_000,
  providerAnswerMs: 10_000,
  loadingMs: LIMITS.loadingMs.default,
  drainMs: LIMITS.drainMs.default,
  leaveMs: 2_000,
};
