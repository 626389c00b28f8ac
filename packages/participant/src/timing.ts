import { HEARTBEAT_INTERVAL_MS, LIMITS } from "@roomhub/protocol";

/** Every duration of a participant, in ms. */
export const defaultTiming = {
  heartbeatMs: HEARTBEAT_INTERVAL_MS,
  /** interval of the ticker: pings, sleep detection */
  tickMs: 1_000,
  /** a longer gap between two ticks means that the machine slept */
  wakeGapMs: 5_000,
  /** after a sleep, the hub must respond to a ping within this time */
  wakePongMs: 3_000,
  /** the same when another connection can take over what runs on this one */
  resumePongMs: 1_000,
  backoffBaseMs: 250,
  backoffMaxMs: 15_000,
  /** a tunnel open for this long resets the backoff */
  stableMs: 30_000,
  /** timeout for opening the tunnel, including HELLO */
  dialMs: 15_000,
  /** the same in a cluster, whose other hubs can take the participant */
  clusterDialMs: 3_000,
  /** while streams wait, a dial that has not reached the hub or a proxy within this time begins anew */
  resumeReachMs: 1_500,
  /** in a cluster, streams wait this long for a hub at whose address nothing listens, before another one is joined */
  resumeRefusedMs: 2_000,
  hubCallMs: 10_000,
  providerConnectMs: LIMITS.connectMs.default,
  /** interval between probes of a model server that is ready */
  providerCheckMs: 30_000,
  /** interval between probes of a model server that is down */
  providerRecheckMs: 5_000,
  /** timeout of a probe */
  probeTimeoutMs: 10_000,
  /** a model server that loads its model for longer counts as down */
  loadingMs: LIMITS.loadingMs.default,
  drainMs: LIMITS.drainMs.default,
  leaveMs: 2_000,
};

export type ParticipantTiming = typeof defaultTiming;
