import { WIRE_LIMITS } from "@roomhub/tunnel";
import type { ForwardedRequest } from "../../inference/forwarding/forwarded-request.ts";
import type { BodyLayout, ForwardFacts, UpstreamRequest } from "../../inference/upstream.ts";
import { isNumber, isText } from "./wire-field.ts";

const lengthBytes = 2;

/** What is of one forwarded request alone. It goes in front of the request's body. */
export type Preamble = Pick<ForwardedRequest, "requestId" | "remainingMs" | "layout" | "sender">;

/**
 * The length of what follows as u16, and JSON.
 *
 * @returns undefined when it is too long for the frame of the head
 */
export function writePreamble(
  { sender }: UpstreamRequest,
  { requestId, remainingMs, layout }: ForwardFacts,
): Buffer | undefined {
  const text = JSON.stringify({
    ...{ requestId, remainingMs },
    ...{ client: sender.client, address: sender.addressId },
    layout: layout && { bodyStart: layout.bodyStart, members: layout.members.map(memberOf) },
  });
  const bytes = lengthBytes + Buffer.byteLength(text);
  if (bytes > WIRE_LIMITS.requestRideBytes) return undefined;
  const preamble = Buffer.allocUnsafe(bytes);
  preamble.writeUInt16BE(bytes - lengthBytes);
  preamble.write(text, lengthBytes);
  return preamble;
}

/**
 * @param body - the part that came with the head
 * @returns the rest of it, too; undefined for what no hub of this version sends
 */
export function readPreamble(body: Buffer): { preamble: Preamble; rest: Buffer } | undefined {
  if (body.length < lengthBytes) return undefined;
  const end = lengthBytes + body.readUInt16BE(0);
  if (body.length < end) return undefined;
  const preamble = preambleIn(parsed(body.toString("utf8", lengthBytes, end)));
  return preamble && { preamble, rest: body.subarray(end) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function preambleIn(value: unknown): Preamble | undefined {
  const { requestId, remainingMs, client, address, layout } = fieldsOf(value);
  if (!isText(requestId) || !isNumber(remainingMs)) return undefined;
  const { kind, id, user } = fieldsOf(client);
  if (!isText(kind) || !isText(id) || !isText(address)) return undefined;
  if (user !== undefined && !isText(user)) return undefined;
  const read = layout === undefined ? undefined : layoutIn(layout);
  if (layout !== undefined && read === undefined) return undefined;
  const sender = { client: client as Preamble["sender"]["client"], addressId: address };
  return { requestId, remainingMs, layout: read, sender };
}

type WireMember = readonly [key: string, start: number, end: number];

function memberOf({ key, start, end }: BodyLayout["members"][number]): WireMember {
  return [key, start, end];
}

/** In ascending order and apart, so that they can be replaced one after the other. */
function layoutIn(value: unknown): BodyLayout | undefined {
  const { bodyStart, members } = fieldsOf(value);
  if (!isNumber(bodyStart) || bodyStart < 1 || !Array.isArray(members)) return undefined;
  const read: BodyLayout["members"][number][] = [];
  let from = bodyStart;
  for (const member of members as unknown[]) {
    const [key, start, end] = (Array.isArray(member) ? member : []) as unknown[];
    if (!isText(key) || !isNumber(start) || !isNumber(end)) return undefined;
    if (start < from || end < start) return undefined;
    from = end;
    read.push({ key, start, end });
  }
  return { bodyStart, members: read };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return (value ?? {}) as Record<string, unknown>;
}
