import { InferenceProtocol } from "@roomhub/protocol";
import type { RequestHead } from "@roomhub/tunnel";
import type {
  ForwardedRequest,
  ForwardTarget,
} from "../../inference/forwarding/forwarded-request.ts";
import type { ForwardFacts, UpstreamRequest } from "../../inference/upstream.ts";
import { isNumber, isText } from "./wire-field.ts";

/** Looked up for each request, for which a schema is slow. */
const protocols: ReadonlySet<string> = new Set(InferenceProtocol.options);

/** What the requests for one participant have in common: `forward` of the head of REQUEST. */
type ForwardPlace = ForwardTarget & Pick<ForwardFacts, "capability" | "hops" | "mayRequestUsage">;

/**
 * Writes the heads of the requests that one other hub serves. Most are the head before, since nothing of one request alone
 * is in them: then neither hub writes or reads its JSON again.
 */
export class ForwardHeads {
  #place: ForwardPlace | undefined;

  headOf(request: UpstreamRequest, facts: ForwardFacts, target: ForwardTarget): RequestHead {
    const { method, path, headers, protocol, isStream } = request;
    if (this.#place === undefined || !isAt(this.#place, facts, target)) {
      const { capability, hops, mayRequestUsage } = facts;
      const { roomCode, participantId, participantKey, bootId, revision } = target;
      this.#place = {
        ...{ roomCode, participantId, participantKey, bootId, revision },
        ...{ capability, hops, mayRequestUsage },
      };
    }
    // The same object for the same place, by which the link knows that the head has not changed.
    const forward = this.#place as unknown as Record<string, unknown>;
    return { method, path, headers, protocol, stream: isStream, forward };
  }
}

function isAt(place: ForwardPlace, facts: ForwardFacts, target: ForwardTarget): boolean {
  return (
    place.participantKey === target.participantKey &&
    place.participantId === target.participantId &&
    place.roomCode === target.roomCode &&
    place.revision === target.revision &&
    place.bootId === target.bootId &&
    place.capability === facts.capability &&
    place.mayRequestUsage === facts.mayRequestUsage &&
    place.hops.length === facts.hops.length &&
    place.hops.every((hop, index) => hop === facts.hops[index])
  );
}

/** What a head says of a request, for any hub. */
export type ForwardHead = Omit<
  ForwardedRequest,
  "from" | "requestId" | "remainingMs" | "layout" | "sender"
>;

/** @returns undefined for what no hub of this version sends */
export function readForwardHead(head: RequestHead): ForwardHead | undefined {
  const { method, path, headers, protocol, stream, forward = {} } = head;
  const { roomCode, participantId, participantKey, bootId, revision } = forward;
  const { capability, hops, mayRequestUsage } = forward;
  if (method !== "POST" && method !== "GET" && method !== "DELETE") return undefined;
  if (!isProtocol(protocol) || !isText(capability)) return undefined;
  if (!isText(roomCode) || !isText(participantId)) return undefined;
  if (!isText(participantKey) || !isText(bootId) || !isNumber(revision)) return undefined;
  if (!Array.isArray(hops) || !hops.every(isText)) return undefined;
  return {
    ...{ method, path, headers, protocol, isStream: stream, capability, hops },
    mayRequestUsage: mayRequestUsage === true,
    target: { roomCode, participantId, participantKey, bootId, revision },
  };
}

function isProtocol(text: string): text is InferenceProtocol {
  return protocols.has(text);
}
