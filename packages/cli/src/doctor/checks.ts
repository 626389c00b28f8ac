import type { Check } from "./check.ts";
import { encryptionCheck } from "./encryption-check.ts";
import { clockCheck, hubCheck } from "./hub-check.ts";
import { modelCheck } from "./model-check.ts";
import { participantsCheck } from "./participants-check.ts";
import { portCheck } from "./port-check.ts";
import { programCheck, proxyCheck } from "./machine-checks.ts";
import { providerCheck } from "./provider-check.ts";
import { requestCheck } from "./request-check.ts";
import { roomCheck } from "./room-check.ts";
import { streamCheck } from "./stream-check.ts";
import { tunnelCheck } from "./tunnel-check.ts";

/** From here to the model: each check builds on those before it. */
export const CHECKS: readonly Check[] = [
  programCheck,
  proxyCheck,
  portCheck,
  encryptionCheck,
  hubCheck,
  clockCheck,
  roomCheck,
  participantsCheck,
  providerCheck,
  modelCheck,
  tunnelCheck,
  streamCheck,
  requestCheck,
];
