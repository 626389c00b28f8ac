import type { JsonObject } from "@roomhub/protocol";
import { CLOSE_CODES, ProtocolError } from "./close-code.ts";
import {
  integerField,
  MalformedPayload,
  optionalBooleanField,
  optionalIntegerField,
  optionalObjectField,
  optionalTextField,
  textField,
} from "./json-payload.ts";

/** Counts on the wire are modulo 2³². */
export const COUNT_RANGE = 2 ** 32;
const MAX_TEXT = 128;
const MAX_RESUME_MS = 300_000;

/** The object `resume` in HELLO, of either side. `docs/reference/tunnel.md`, "Resuming". */
export interface ResumeFields {
  bootId?: string | undefined;
  id?: string | undefined;
  secret?: string | undefined;
  generation?: number | undefined;
  /** of an agent: without the session it has no use for the tunnel */
  only?: boolean | undefined;
  received?: number | undefined;
  sent?: number | undefined;
  resumeMs?: number | undefined;
  resumed?: boolean | undefined;
}

/** Where one side of a session stands: how many messages it has processed and sent, modulo 2³². */
export interface ResumePoint {
  received: number;
  /** Messages up to this number that follow are resent ones. */
  sent: number;
}

/** An agent asks for a session that it had. */
export interface ResumeClaim extends ResumePoint {
  id: string;
  secret: string;
  /** Grows with each tunnel that presents the session. */
  generation: number;
}

/** An agent can resume. */
export interface ResumeOffer {
  /** of the agent's run */
  bootId: string;
  claim: ResumeClaim | undefined;
}

/** What a requester that can resume makes of an offer. */
export type ResumeReply =
  | { kind: "new"; id: string; secret: string; resumeMs: number }
  | ({ kind: "resumed"; id: string; resumeMs: number } & ResumePoint);

/** @throws {MalformedPayload} */
export function resumeFields(hello: JsonObject): ResumeFields | undefined {
  const object = optionalObjectField(hello, "resume");
  if (object === undefined) return undefined;
  return {
    bootId: shortText(object, "bootId"),
    id: shortText(object, "id"),
    secret: shortText(object, "secret"),
    generation: optionalIntegerField(object, "generation", 1, Number.MAX_SAFE_INTEGER),
    received: optionalIntegerField(object, "received", 0, COUNT_RANGE - 1),
    sent: optionalIntegerField(object, "sent", 0, COUNT_RANGE - 1),
    resumeMs: optionalIntegerField(object, "resumeMs", 1, MAX_RESUME_MS),
    only: optionalBooleanField(object, "only"),
    resumed: optionalBooleanField(object, "resumed"),
  };
}

/** @throws {MalformedPayload} for half a claim */
export function readOffer(fields: ResumeFields): ResumeOffer {
  const object = { ...fields };
  const bootId = textField(object, "bootId");
  if (fields.id === undefined) return { bootId, claim: undefined };
  return {
    bootId,
    claim: {
      id: fields.id,
      secret: textField(object, "secret"),
      generation: integerField(object, "generation", 1, Number.MAX_SAFE_INTEGER),
      ...readPoint(object),
    },
  };
}

/** @throws {MalformedPayload} for half a reply */
export function readReply(fields: ResumeFields): ResumeReply {
  const object = { ...fields };
  const id = textField(object, "id");
  const resumeMs = integerField(object, "resumeMs", 1, MAX_RESUME_MS);
  if (fields.resumed === true) return { kind: "resumed", id, resumeMs, ...readPoint(object) };
  return { kind: "new", id, secret: textField(object, "secret"), resumeMs };
}

/** The counts or limits of the other end rule out that it resumes this session. */
export function badResume(reason: string): ProtocolError {
  return new ProtocolError(CLOSE_CODES.protocolError, `resume: ${reason}`);
}

function readPoint(object: JsonObject): ResumePoint {
  return {
    received: integerField(object, "received", 0, COUNT_RANGE - 1),
    sent: integerField(object, "sent", 0, COUNT_RANGE - 1),
  };
}

function shortText(object: JsonObject, key: string): string | undefined {
  const text = optionalTextField(object, key);
  if (text !== undefined && (text === "" || text.length > MAX_TEXT))
    throw new MalformedPayload(`"${key}" does not have 1 to ${MAX_TEXT} characters`);
  return text;
}
