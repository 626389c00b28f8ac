import { HEARTBEAT_INTERVAL_MS, LIMITS } from "@roomhub/protocol";

/** Every duration of a participant, in ms. */
export interface ParticipantTiming {
  heartbeatMs: number;
  /** interval of the ticker: pings, sleep detection */
  tickMs: number;
  /** a longer gap between two ticks means that the machine slept */
  wakeGapMs: number;
  /** after a sleep, the hub must respond to a ping within this time */
  wakePongMs: number;
  /** the same when another connection can take over what runs on this one */
  resumePongMs: number;
  backoffBaseMs: number;
  backoffMaxMs: number;
  /** a tunnel open for this long resets the backoff */
  stableMs: number;
  /** timeout for opening the tunnel, including HELLO */
  dialMs: number;
  /** the same in a cluster, whose other hubs can take the participant */
  clusterDialMs: number;
  /** while streams wait, a dial that has not reached the hub or a proxy within this time begins anew */
  resumeReachMs: number;
  /** in a cluster, streams wait this long for a hub at whose address nothing listens, before another one is joined */
  resumeRefusedMs: number;
  hubCallMs: number;
  providerConnectMs: number;
  /** interval between probes of a model server that is ready */
  providerCheckMs: number;
  /** interval between probes of a model server that is down */
  providerRecheckMs: number;
  /** timeout of a probe */
  probeTimeoutMs: number;
  /** a model server that loads its model for longer counts as down */
  loadingMs: number;
  drainMs: number;
  leaveMs: number;
}

export const defaultTiming: ParticipantTiming = {
  heartbeatMs: HEARTBEAT_INTERVAL_MS,
  tickMs: 1_000,
  wakeGapMs: 5_000,
  wakePongMs: 3_000,
  resumePongMs: 1_000,
  backoffBaseMs: 250,
  backoffMaxMs: 15_000,
  stableMs: 30_000,
  dialMs: 15_000,
  clusterDialMs: 3_000,
  resumeReachMs: 1_500,
  resumeRefusedMs: 2_000,
  hubCallMs: 10_000,
  providerConnectMs: LIMITS.connectMs.default,
  providerCheckMs: 30_000,
  providerRecheckMs: 5_000,
  probeTimeoutMs: 10_000,
  loadingMs: LIMITS.loadingMs.default,
  drainMs: LIMITS.drainMs.default,
  leaveMs: 2_000,
};
