import { InferenceProtocol } from "@roomhub/protocol";
import type { RequestHead } from "@roomhub/tunnel";
import type { HubIdentity } from "../../domain/participant.ts";
import type {
  ForwardedRequest,
  ForwardTarget,
} from "../../inference/forwarding/forwarded-request.ts";
import type { BodyLayout, ForwardFacts, UpstreamRequest } from "../../inference/upstream.ts";

/** Looked up for each request, for which a schema is slow. */
const protocols: ReadonlySet<string> = new Set(InferenceProtocol.options);

/** The head of REQUEST for a request that the other hub serves. */
export function encodeForward(
  request: UpstreamRequest,
  facts: ForwardFacts,
  target: ForwardTarget,
): RequestHead {
  const { requestId, capability, hops, remainingMs, mayRequestUsage, layout } = facts;
  const { roomCode, participantId, participantKey, bootId, revision } = target;
  return {
    method: request.method,
    path: request.path,
    headers: request.headers,
    protocol: request.protocol,
    stream: request.isStream,
    client: request.sender.client,
    address: request.sender.addressId,
    forward: {
      ...{ roomCode, participantId, participantKey, bootId, revision },
      ...{ requestId, capability },
      ...{ hops, remainingMs, mayRequestUsage },
      layout: layout && { bodyStart: layout.bodyStart, members: layout.members.map(memberOf) },
    },
  };
}

/** @returns undefined for what no hub of this version sends */
export function decodeForward(head: RequestHead, from: HubIdentity): ForwardedRequest | undefined {
  const { method, path, headers, protocol, stream, client, address, forward = {} } = head;
  const { roomCode, participantId, participantKey, bootId, revision } = forward;
  const { requestId, capability } = forward;
  const { hops, remainingMs, mayRequestUsage, layout } = forward;
  if (method !== "POST" && method !== "GET" && method !== "DELETE") return undefined;
  if (!isProtocol(protocol) || client === undefined || address === undefined) return undefined;
  if (!isText(roomCode) || !isText(participantId)) return undefined;
  if (!isText(participantKey) || !isText(bootId) || !isNumber(revision)) return undefined;
  if (!isText(requestId) || !isText(capability) || !isNumber(remainingMs)) return undefined;
  if (!Array.isArray(hops) || !hops.every(isText)) return undefined;
  const read = layout === undefined ? undefined : layoutIn(layout);
  if (layout !== undefined && read === undefined) return undefined;
  return {
    ...{ from, method, path, headers, protocol, isStream: stream, requestId, capability },
    ...{ hops, remainingMs, mayRequestUsage: mayRequestUsage === true, layout: read },
    target: { roomCode, participantId, participantKey, bootId, revision },
    sender: { client: client as ForwardedRequest["sender"]["client"], addressId: address },
  };
}

type WireMember = readonly [key: string, start: number, end: number];

function memberOf({ key, start, end }: BodyLayout["members"][number]): WireMember {
  return [key, start, end];
}

/** In ascending order and apart, so that they can be replaced one after the other. */
function layoutIn(value: unknown): BodyLayout | undefined {
  const { bodyStart, members } = (value ?? {}) as Record<string, unknown>;
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

function isProtocol(text: string): text is InferenceProtocol {
  return protocols.has(text);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= 1_024;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
