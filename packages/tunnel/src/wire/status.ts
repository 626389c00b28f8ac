import { asProtocolError } from "./hello.ts";
import {
  booleanField,
  integerField,
  optionalTextField,
  parseObject,
  textMapField,
} from "./json-payload.ts";

/** The agent tells the hub how its provider is: down or back, paused, capabilities learned since HELLO. */
export interface TunnelStatus {
  ready: boolean;
  /** The same in one word, see `Readiness` of `@roomhub/protocol`: this package knows no models. */
  readiness?: string | undefined;
  /** Why it is not ready, for people. */
  reason?: string | undefined;
  /** Replaces those of HELLO when present. */
  capabilities?: Record<string, string> | undefined;
  /** Requests that the provider runs at once; left out where the agent does not know. */
  limit?: number | undefined;
  /** How the agent knows, in one word: `engine` for the provider's own. */
  limitFrom?: string | undefined;
  /** Of those, busy with something else than the streams of this tunnel; left out for none. */
  elsewhere?: number | undefined;
}

const MAX_LIMIT = 65_536;

export function encodeStatus(status: TunnelStatus): string {
  const { ready, readiness, reason, capabilities, limit, limitFrom, elsewhere } = status;
  return JSON.stringify({ ready, readiness, reason, capabilities, limit, limitFrom, elsewhere });
}

/** @throws {ProtocolError} 4002 */
export function decodeStatus(payload: Buffer): TunnelStatus {
  try {
    const object = parseObject(payload);
    return {
      ready: booleanField(object, "ready"),
      readiness: optionalTextField(object, "readiness"),
      reason: optionalTextField(object, "reason"),
      capabilities:
        object["capabilities"] === undefined ? undefined : textMapField(object, "capabilities"),
      limit:
        object["limit"] === undefined ? undefined : integerField(object, "limit", 1, MAX_LIMIT),
      limitFrom: optionalTextField(object, "limitFrom"),
      elsewhere:
        object["elsewhere"] === undefined
          ? undefined
          : integerField(object, "elsewhere", 0, MAX_LIMIT),
    };
  } catch (error) {
    throw asProtocolError("STATUS", error);
  }
}
