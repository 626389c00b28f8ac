import { asProtocolError } from "./hello.ts";
import { booleanField, optionalTextField, parseObject, textMapField } from "./json-payload.ts";

/** The agent tells the hub how its provider is: down or back, paused, capabilities learned since HELLO. */
export interface TunnelStatus {
  ready: boolean;
  /** The same in one word, see `Readiness` of `@roomhub/protocol`: this package knows no models. */
  readiness?: string | undefined;
  /** Why it is not ready, for people. */
  reason?: string | undefined;
  /** Replaces those of HELLO when present. */
  capabilities?: Record<string, string> | undefined;
}

export function encodeStatus(status: TunnelStatus): string {
  const { ready, readiness, reason, capabilities } = status;
  return JSON.stringify({ ready, readiness, reason, capabilities });
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
    };
  } catch (error) {
    throw asProtocolError("STATUS", error);
  }
}
