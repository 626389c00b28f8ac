import { CLOSE_CODES } from "./close-code.ts";
import { WIRE_LIMITS } from "./frame.ts";
import {
  integerField,
  MalformedPayload,
  optionalIntegerField,
  parseObject,
  textMapField,
} from "./json-payload.ts";
import { ProtocolError } from "./protocol-error.ts";
import { resumeFields } from "./resume.ts";
import type { ResumeFields } from "./resume.ts";

const WIRE_VERSION = 1;

/** The first frame each way. Unknown fields are ignored, so that additions are compatible. */
export interface Hello {
  /** From the agent: the concurrent streams it accepts. From the hub: the maximum it will open. */
  maxStreams: number;
  /** Body bytes per stream that the sender of this HELLO accepts before it returns credit. */
  windowBytes: number;
  /** Capabilities of the agent's provider; empty from the hub. The tunnel does not interpret them. */
  capabilities: Record<string, string>;
  /** From the hub: which home of the room it is. The tunnel does not interpret it. */
  homeEpoch?: number | undefined;
  /** Its sender can resume sessions. */
  resume?: ResumeFields | undefined;
}

export function encodeHello(hello: Hello): string {
  const { maxStreams, windowBytes, capabilities, homeEpoch, resume } = hello;
  return JSON.stringify({
    ...{ version: WIRE_VERSION, maxStreams, windowBytes, capabilities, homeEpoch, resume },
  });
}

/** @throws {ProtocolError} 4003 for another version, 4002 for anything else that is invalid */
export function decodeHello(payload: Buffer): Hello {
  try {
    const object = parseObject(payload);
    const version = integerField(object, "version", 0, Number.MAX_SAFE_INTEGER);
    if (version !== WIRE_VERSION) {
      throw new ProtocolError(
        CLOSE_CODES.unsupportedVersion,
        `HELLO has version ${version}, this side supports ${WIRE_VERSION}`,
      );
    }
    return {
      maxStreams: integerField(object, "maxStreams", 1, 0xffff_ffff),
      windowBytes: integerField(object, "windowBytes", 1, WIRE_LIMITS.windowBytes),
      capabilities:
        object["capabilities"] === undefined ? {} : textMapField(object, "capabilities"),
      ...homeEpochOf(object),
      ...resumeOf(object),
    };
  } catch (error) {
    throw asProtocolError("HELLO", error);
  }
}

/** Absent from the HELLO of a hub whose rooms have no homes. */
function homeEpochOf(object: Record<string, unknown>): Pick<Hello, "homeEpoch"> {
  const homeEpoch = optionalIntegerField(object, "homeEpoch", 1, Number.MAX_SAFE_INTEGER);
  return homeEpoch === undefined ? {} : { homeEpoch };
}

/** Absent from the HELLO of one that cannot resume. */
function resumeOf(object: Record<string, unknown>): Pick<Hello, "resume"> {
  const resume = resumeFields(object);
  return resume === undefined ? {} : { resume };
}

/** Turns a malformed payload into an error that closes the tunnel. Other errors pass through. */
export function asProtocolError(frame: string, error: unknown): unknown {
  if (!(error instanceof MalformedPayload)) return error;
  return new ProtocolError(CLOSE_CODES.protocolError, `${frame}: ${error.message}`);
}
