import { asProtocolError } from "./hello.ts";
import { booleanField, optionalTextField, parseObject, textMapField } from "./json-payload.ts";

/** The agent tells the hub how its provider is: down or back, paused, capabilities learned since HELLO. */
export interface TunnelStatus {
  ready: boolean;
  /** Why it is not ready, for people. */
  reason?: string | undefined;
  /** Replaces those of HELLO when present. */
  capabilities?: Record<string, string> | undefined;
}

export function encodeStatus(status: TunnelStatus): string {
  const { ready, reason, capabilities } = status;
  return JSON.stringify({ ready, reason, capabilities });
}

/** @throws {ProtocolError} 4002 */
export function decodeStatus(payload: Buffer): TunnelStatus {
  try {
    const object = parseObject(payload);
    return {
      ready: booleanField(object, "ready"),
      reason: optionalTextField(object, "reason"),
      capabilities:
        object["capabilities"] === undefined ? undefined : textMapField(object, "capabilities"),
    };
  } catch (error) {
    throw asProtocolError("STATUS", error);
  }
}
