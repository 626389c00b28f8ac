import type { JsonObject } from "@roomhub/protocol";
import { asProtocolError } from "./hello.ts";
import {
  booleanField,
  optionalBooleanField,
  optionalIntegerField,
  optionalObjectField,
  optionalTextField,
  optionalTextMapField,
  optionalTextsField,
  readObject,
} from "./json-payload.ts";

/** The agent reports its provider's state to the requester: readiness, pause, capabilities learned since HELLO. */
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
  /** Tokens that the provider's model takes; absent when unknown. */
  context?: TunnelContext | undefined;
  /** What the provider's model can do, word by word; absent before the provider was looked at. */
  features?: Record<string, string> | undefined;
  /** The model that responses name, when that is another one than the participant's. */
  answersAs?: string | undefined;
  /** The agent's own budget; absent when it has none. */
  budget?: TunnelBudget | undefined;
}

/** The context of a model: a `ModelContext` of `@roomhub/protocol`, which this package does not import. */
interface TunnelContext {
  tokens: number;
  /** Where the figure comes from. */
  from: string;
  countsMaxTokens?: boolean | undefined;
  mayTruncate?: boolean | undefined;
}

/** What an agent lets all requesters together spend. */
export interface TunnelBudget {
  tokensPerDay?: number | undefined;
  /** What is left of `tokensPerDay` now. */
  remainingTokens?: number | undefined;
  /** Part of the day's tokens that requests of batches may use. */
  batchTokensPerDay?: number | undefined;
  /** What is left of `batchTokensPerDay` now. */
  remainingBatchTokens?: number | undefined;
  requestsPerMinute?: number | undefined;
  /** Epoch ms at which the day's tokens are renewed. */
  resetAt?: number | undefined;
}

const MAX_LIMIT = 65_536;
const MAX_LOADED = 64;

export function encodeStatus(status: TunnelStatus): string {
  const { ready, readiness, reason, capabilities, limit, limitFrom, elsewhere } = status;
  const { loaded, context, features, answersAs, budget } = status;
  return JSON.stringify({
    ...{ ready, readiness, reason, capabilities, limit, limitFrom, elsewhere, loaded },
    ...{ context, features, answersAs },
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
      context: readContext(optionalObjectField(object, "context")),
      features: optionalTextMapField(object, "features"),
      answersAs: optionalTextField(object, "answersAs"),
      budget: readBudget(optionalObjectField(object, "budget")),
    };
  } catch (error) {
    throw asProtocolError("STATUS", error);
  }
}

function readContext(context: JsonObject | undefined): TunnelContext | undefined {
  const tokens = context && optionalIntegerField(context, "tokens", 1, Number.MAX_SAFE_INTEGER);
  const from = context && optionalTextField(context, "from");
  if (context === undefined || tokens === undefined || from === undefined) return undefined;
  return {
    ...{ tokens, from },
    countsMaxTokens: optionalBooleanField(context, "countsMaxTokens"),
    mayTruncate: optionalBooleanField(context, "mayTruncate"),
  };
}

/** The fields in the order of the wire. */
function encodableBudget({
  tokensPerDay,
  remainingTokens,
  batchTokensPerDay,
  remainingBatchTokens,
  requestsPerMinute,
  resetAt,
}: TunnelBudget): TunnelBudget {
  const forBatches = { batchTokensPerDay, remainingBatchTokens };
  return { tokensPerDay, remainingTokens, ...forBatches, requestsPerMinute, resetAt };
}

function readBudget(budget: JsonObject | undefined): TunnelBudget | undefined {
  if (budget === undefined) return undefined;
  const count = (key: string, min: number) =>
    optionalIntegerField(budget, key, min, Number.MAX_SAFE_INTEGER);
  return {
    tokensPerDay: count("tokensPerDay", 1),
    remainingTokens: count("remainingTokens", 0),
    batchTokensPerDay: count("batchTokensPerDay", 1),
    remainingBatchTokens: count("remainingBatchTokens", 0),
    requestsPerMinute: count("requestsPerMinute", 1),
    resetAt: count("resetAt", 0),
  };
}
