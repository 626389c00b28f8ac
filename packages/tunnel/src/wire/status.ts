import type { JsonObject } from "@roomhub/protocol";
import { asProtocolError } from "./hello.ts";
import {
  booleanField,
  optionalIntegerField,
  optionalObjectField,
  optionalTextField,
  optionalTextMapField,
  optionalTextsField,
  readObject,
} from "./json-payload.ts";

/** The agent reports its provider's state to the hub: readiness, pause, capabilities learned since HELLO. */
export interface TunnelStatus {
  ready: boolean;
  /** The readiness in detail: a `Readiness` of `@roomhub/protocol`, which this package does not import. */
  readiness?: string | undefined;
  /** Why it is not ready, as text for display. */
  reason?: string | undefined;
  /** Replaces the capabilities of HELLO when present. */
  capabilities?: Record<string, string> | undefined;
  /** Concurrent requests of the provider; absent when unknown. */
  limit?: number | undefined;
  /** Where the limit comes from: `engine` for the provider's own report. */
  limitFrom?: string | undefined;
  /** Slots of the limit busy with work outside this tunnel; absent for none. */
  elsewhere?: number | undefined;
  /** The models that the provider has loaded, at most 64; absent when it does not say. */
  loaded?: readonly string[] | undefined;
  /** The agent's own budget; absent when it has none. */
  budget?: TunnelBudget | undefined;
}

/** What an agent lets all hubs together spend. */
export interface TunnelBudget {
  tokensPerDay?: number | undefined;
  /** What is left of `tokensPerDay` now. */
  remainingTokens?: number | undefined;
  requestsPerMinute?: number | undefined;
  /** Epoch ms at which the day's tokens are renewed. */
  resetAt?: number | undefined;
}

const MAX_LIMIT = 65_536;
const MAX_LOADED = 64;

export function encodeStatus(status: TunnelStatus): string {
  const { ready, readiness, reason, capabilities, limit, limitFrom, elsewhere } = status;
  const { loaded, budget } = status;
  return JSON.stringify({
    ...{ ready, readiness, reason, capabilities, limit, limitFrom, elsewhere, loaded },
    budget: budget && encodableBudget(budget),
  });
}

/** @throws {ProtocolError} 4002 */
export function decodeStatus(payload: Buffer): TunnelStatus {
  try {
    const object = readObject(payload);
    return {
      ready: booleanField(object, "ready"),
      readiness: optionalTextField(object, "readiness"),
      reason: optionalTextField(object, "reason"),
      capabilities: optionalTextMapField(object, "capabilities"),
      limit: optionalIntegerField(object, "limit", 1, MAX_LIMIT),
      limitFrom: optionalTextField(object, "limitFrom"),
      elsewhere: optionalIntegerField(object, "elsewhere", 0, MAX_LIMIT),
      loaded: optionalTextsField(object, "loaded", MAX_LOADED),
      budget: readBudget(optionalObjectField(object, "budget")),
    };
  } catch (error) {
    throw asProtocolError("STATUS", error);
  }
}

/** The fields in the order of the wire. */
function encodableBudget({
  tokensPerDay,
  remainingTokens,
  requestsPerMinute,
  resetAt,
}: TunnelBudget): TunnelBudget {
  return { tokensPerDay, remainingTokens, requestsPerMinute, resetAt };
}

function readBudget(budget: JsonObject | undefined): TunnelBudget | undefined {
  if (budget === undefined) return undefined;
  const count = (key: string, min: number) =>
    optionalIntegerField(budget, key, min, Number.MAX_SAFE_INTEGER);
  return {
    tokensPerDay: count("tokensPerDay", 1),
    remainingTokens: count("remainingTokens", 0),
    requestsPerMinute: count("requestsPerMinute", 1),
    resetAt: count("resetAt", 0),
  };
}
