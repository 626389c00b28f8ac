import type { Participant } from "../../domain/participant.ts";
import { aParticipant } from "../../domain/room.fixture.ts";
import { BodyBudget } from "../body-budget.ts";
import { InFlight } from "../in-flight.ts";
import { RoomQueues } from "../queue.ts";
import type { ResponseSink, Upstream, UpstreamRequest } from "../upstream.ts";
import type { ForwardedRequest, ForwardReply, ForwardTarget } from "./forwarded-request.ts";
import { type ForwardingDeps, serveForwarded } from "./serve-forwarded.ts";

const from = { hubId: "e".repeat(16), bootId: "0000000e" };

/** A participant of this hub whose tunnel is open. */
export function ownParticipant(fields: Partial<Participant> = {}): Participant {
  const tunnel = { kind: "open", readiness: "ready", problem: "", sinceMs: 0 } as const;
  return aParticipant({ id: "ana", key: "k1", limit: 1, tunnel, ...fields });
}

export function aTarget(fields: Partial<ForwardTarget> = {}): ForwardTarget {
  const place = { roomCode: "ABC234", participantId: "ana", participantKey: "k1" };
  return { ...place, bootId: "boot1", revision: 1, ...fields };
}

export function aForwarded(fields: Partial<ForwardedRequest> = {}): ForwardedRequest {
  return {
    from,
    target: aTarget(),
    ...{ method: "POST", path: "/chat/completions", headers: {}, protocol: "chatCompletions" },
    isStream: true,
    sender: { client: { kind: "none", id: "" }, addressId: "00000001" },
    ...{ requestId: "req_1", capability: "chatCompletions", hops: [from.bootId] },
    ...{ remainingMs: 60_000, mayRequestUsage: false },
    layout: { bodyStart: 1, members: [{ key: "model", start: 9, end: 12 }] },
    ...fields,
  };
}

/** The hub that owns one participant, and all that leaves it. */
export function createOwner(participant: Participant, deps: Partial<ForwardingDeps> = {}) {
  const sent: string[] = [];
  const opened: { request: UpstreamRequest; sink: ResponseSink; cancelled: string[] }[] = [];
  const upstream: Upstream = {
    open(request, sink) {
      const cancelled: string[] = [];
      opened.push({ request, sink, cancelled });
      return {
        isBodyTaken: true,
        resume: () => void sent.push("resumed"),
        cancel: (reason) => void cancelled.push(reason),
      };
    },
  };
  let nowMs = 1_000;
  let isBehind = false;
  const inFlight = new InFlight();
  const bodies = new BodyBudget(1_000);
  const all: ForwardingDeps = {
    ...{ bootId: "boot1", limits: { inFlightPerHub: 10 }, nowMs: () => nowMs, inFlight, bodies },
    queues: new RoomQueues(10),
    isDraining: () => false,
    findOwn: ({ participantKey }) => (participantKey === participant.key ? participant : undefined),
    upstreamFor: () => upstream,
    scrubberOf: () => (text) => text.replaceAll("canary", "******"),
    filterFor: () => undefined,
    slots: {
      freed: () => undefined,
      takeGrant: () => false,
      changed: (_participant, _hubId, by) => void sent.push(by === 1 ? "slot taken" : "slot free"),
      elsewhere: () => participant.active,
    },
    resumed: ({ id }, hubId, requestId) =>
      void sent.push(`${requestId} at ${id} resumed for ${hubId}`),
    reportBug(bug) {
      throw bug;
    },
    ...deps,
  };
  const reply: ForwardReply = {
    admit: (admission) => void sent.push(`admitted ${JSON.stringify(admission)}`),
    refuse: ({ reason, elsewhere }) => void sent.push(`refused ${reason} ${elsewhere}`),
    head: ({ status, headers }) => void sent.push(`head ${status} ${JSON.stringify(headers)}`),
    write: (chunk) => sent.push(`data ${chunk.toString()}`) > 0 && !isBehind,
    end: () => void sent.push("end"),
    fail: (code, message) => void sent.push(`failed ${code}: ${message}`),
    resumeBody() {},
    closed: () => void sent.push("closed"),
  };
  return {
    ...{ sent, opened, inFlight, bodies, deps: all },
    fallBehind: () => void (isBehind = true),
    pass(ms: number) {
      nowMs += ms;
      inFlight.sweep(nowMs);
    },
    /** Serves a request and its whole body. */
    serve(request: ForwardedRequest, body = '{"model":"m"}') {
      const call = serveForwarded(all, request, reply);
      call.onBody(Buffer.from(body));
      call.onBodyEnd();
      return call;
    },
    begin: (request: ForwardedRequest) => serveForwarded(all, request, reply),
  };
}
