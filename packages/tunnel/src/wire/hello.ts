import { CLOSE_CODES } from "./close-code.ts";
import { WIRE_LIMITS } from "./frame.ts";
import { integerField, MalformedPayload, parseObject, textMapField } from "./json-payload.ts";
import { ProtocolError } from "./protocol-error.ts";

const WIRE_VERSION = 1;

/** The first frame each way. Fields that are not listed are ignored, so that a later minor addition is no break. */
export interface Hello {
  /** From the agent: the streams it takes at once. From the hub: the most it will open. */
  maxStreams: number;
  /** Body bytes per stream the sender of this HELLO takes before it returns credit. */
  windowBytes: number;
  /** What the provider behind the agent can do; empty from the hub. The tunnel does not look inside. */
  capabilities: Record<string, string>;
}

export function encodeHello(hello: Hello): string {
  const { maxStreams, windowBytes, capabilities } = hello;
  return JSON.stringify({ version: WIRE_VERSION, maxStreams, windowBytes, capabilities });
}

/** @throws {ProtocolError} 4003 for another version, 4002 for anything else that is wrong */
export function decodeHello(payload: Buffer): Hello {
  try {
    const object = parseObject(payload);
    const version = integerField(object, "version", 0, Number.MAX_SAFE_INTEGER);
    if (version !== WIRE_VERSION) {
      throw new ProtocolError(
        CLOSE_CODES.unsupportedVersion,
        `HELLO names version ${version}, this side speaks ${WIRE_VERSION}`,
      );
    }
    return {
      maxStreams: integerField(object, "maxStreams", 1, 0xffff_ffff),
      windowBytes: integerField(object, "windowBytes", 1, WIRE_LIMITS.windowBytes),
      capabilities:
        object["capabilities"] === undefined ? {} : textMapField(object, "capabilities"),
    };
  } catch (error) {
    throw asProtocolError("HELLO", error);
  }
}

/** What a malformed payload costs when it costs the whole tunnel. Other errors pass through. */
export function asProtocolError(frame: string, error: unknown): unknown {
  if (!(error instanceof MalformedPayload)) return error;
  return new ProtocolError(CLOSE_CODES.protocolError, `${frame}: ${error.message}`);
}
