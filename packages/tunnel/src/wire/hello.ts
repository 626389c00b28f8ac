import { CLOSE_CODES, ProtocolError } from "./close-code.ts";
import { WIRE_LIMITS } from "./frame.ts";
import {
  integerField,
  MalformedPayload,
  optionalIntegerField,
  readObject,
  optionalTextMapField,
} from "./json-payload.ts";
import { resumeFields } from "./resume.ts";
import type { ResumeFields } from "./resume.ts";

const WIRE_VERSION = 1;

/** The first frame each way. Unknown fields are ignored, so that additions are compatible. */
export interface Hello {
  /** From the agent: the concurrent streams it accepts. From the requester: the maximum it will open. */
  maxStreams: number;
  /** Body bytes per stream that the sender of this HELLO accepts before it returns credit. */
  windowBytes: number;
  /** Capabilities of the agent's provider; empty from the requester. Not interpreted here. */
  capabilities: Record<string, string>;
  /** `homeEpoch` on the wire. From a requester that may be replaced: how many there were. Not interpreted here. */
  epoch?: number | undefined;
  /** Absent from a sender that does not resume sessions. */
  resume?: ResumeFields | undefined;
}

export function encodeHello(hello: Hello): string {
  const { maxStreams, windowBytes, capabilities, epoch, resume } = hello;
  const version = WIRE_VERSION;
  return JSON.stringify({
    ...{ version, maxStreams, windowBytes, capabilities },
    ...{ homeEpoch: epoch, resume },
  });
}

/** @throws {ProtocolError} 4003 for another version, 4002 for anything else that is invalid */
export function decodeHello(payload: Buffer): Hello {
  try {
    const object = readObject(payload);
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
      capabilities: optionalTextMapField(object, "capabilities") ?? {},
      epoch: optionalIntegerField(object, "homeEpoch", 1, Number.MAX_SAFE_INTEGER),
      resume: resumeFields(object),
    };
  } catch (error) {
    throw asProtocolError("HELLO", error);
  }
}

/** Turns a malformed payload into an error that closes the tunnel. Other errors pass through. */
export function asProtocolError(frame: string, error: unknown): unknown {
  if (!(error instanceof MalformedPayload)) return error;
  return new ProtocolError(CLOSE_CODES.protocolError, `${frame}: ${error.message}`);
}
