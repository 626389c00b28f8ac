import type { Scenario } from "../scenario.ts";
import { badProvider } from "./bad-provider.ts";
import { clockJumps } from "./clock-jumps.ts";
import { clusterHomeFrozen } from "./cluster/home-frozen.ts";
import { clusterHandedOver } from "./cluster/home-handed-over.ts";
import { clusterHomeKilled } from "./cluster/home-killed.ts";
import { clusterHubKilled } from "./cluster/hub-killed.ts";
import { clusterHubSilent } from "./cluster/hub-silent.ts";
import { clusterLedger } from "./cluster/ledger-everywhere.ts";
import { clusterNatsAway } from "./cluster/nats-away.ts";
import { clusterRoomsHashed } from "./cluster/rooms-hashed.ts";
import { clusterRollingRestart } from "./cluster/rolling-restart.ts";
import { contendedLock } from "./rooms/contended-lock.ts";
import { createdThenKilled } from "./rooms/created-then-killed.ts";
import { cutBytes, cutConnections, tunnelReset } from "./cut-bytes.ts";
import { filesExhausted } from "./files-exhausted.ts";
import { packetLoss, partition, slowNetwork } from "./partition.ts";
import { providerFrozen } from "./provider-frozen.ts";
import { clientLeaves } from "./client-leaves.ts";
import { frozenReader } from "./frozen-reader.ts";
import { guessedPasswords } from "./rooms/guessed-passwords.ts";
import { hubFrozen } from "./hub-frozen.ts";
import { hubKilled } from "./hub-killed.ts";
import { hubStopped, hubStoppedShort } from "./hub-stopped.ts";
import { idleSubscribers } from "./idle-subscribers.ts";
import { killedBeforeFirstByte } from "./killed-before-first-byte.ts";
import { participantFrozen } from "./participant-frozen.ts";
import { participantKilled } from "./participant-killed.ts";
import { pausedReader } from "./paused-reader.ts";
import { randomDisconnects } from "./random-disconnects.ts";
import { resumedAfterFreeze } from "./resumed/agent-frozen.ts";
import { resumedAfterSilence, resumedAtNewAddress } from "./resumed/cabled.ts";
import { resumedAfterProxyKill } from "./resumed/proxy-killed.ts";
import { resumedAfterReset } from "./resumed/tunnel-reset.ts";
import { stalledSubscribers } from "./stalled-subscribers.ts";
import { thunderingReconnect } from "./thundering-reconnect.ts";

/** In the order they run. */
export const scenarios: readonly Scenario[] = [
  participantKilled,
  clientLeaves,
  killedBeforeFirstByte,
  participantFrozen,
  pausedReader,
  frozenReader,
  badProvider,
  hubKilled,
  contendedLock,
  createdThenKilled,
  guessedPasswords,
  thunderingReconnect,
  idleSubscribers,
  stalledSubscribers,
  hubFrozen,
  hubStopped,
  hubStoppedShort,
  randomDisconnects,
  providerFrozen,
  filesExhausted,
  cutBytes,
  cutConnections,
  tunnelReset,
  resumedAfterReset,
  resumedAfterSilence,
  resumedAfterProxyKill,
  resumedAtNewAddress,
  resumedAfterFreeze,
  partition,
  packetLoss,
  slowNetwork,
  clockJumps,
  clusterHubKilled,
  clusterHubSilent,
  clusterNatsAway,
  clusterLedger,
  clusterRollingRestart,
  clusterHomeKilled,
  clusterHandedOver,
  clusterHomeFrozen,
  clusterRoomsHashed,
];
