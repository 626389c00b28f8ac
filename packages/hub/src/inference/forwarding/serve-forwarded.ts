import type { Limits } from "@roomhub/protocol";
import {
  capabilityOf,
  isFull,
  type HubIdentity,
  type Machine,
  occupySlot,
  type Participant,
  releaseSlot,
  type SlotHolder,
} from "../../domain/participant.ts";
import { roomsToWake } from "../../domain/machine.ts";
import {
  beginTrial,
  isAwaited,
  isLoading,
  isRoutable,
  unroutableReason,
} from "../../domain/readiness.ts";
import { HubError } from "../../errors.ts";
import type { InFlight, RunningRequest } from "../in-flight.ts";
import type { Scrubber } from "../inference-call.ts";
import type { RoomQueues } from "../queue.ts";
import { takesUsageRequest } from "../request/inference-request.ts";
import { bodyForProvider } from "../request/provider-body.ts";
import { personOf } from "../sender/senders.ts";
import type {
  ForwardRefusal,
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamCall,
  UpstreamFailure,
} from "../upstream.ts";
import type {
  ForwardedCall,
  ForwardedRequest,
  ForwardReply,
  ForwardTarget,
} from "./forwarded-request.ts";
import type { ResponseFilter, ResponseFilterFor } from "./response-filter.ts";
import { showsOf } from "./shows.ts";

/** What serving for other hubs needs. Made in `hub.ts`. */
export interface ForwardingDeps {
  bootId: string;
  limits: Pick<Limits, "inFlightPerHub">;
  nowMs: () => number;
  inFlight: InFlight;
  queues: RoomQueues;
  /** Of the bytes of request bodies that this hub holds. */
  bodies: { hold(bytes: number): void; release(bytes: number): void };
  isDraining: () => boolean;
  /** The participant itself; undefined when it is not one of this hub, or another than the sender means. */
  findOwn: (target: ForwardTarget) => Participant | undefined;
  upstreamFor: (participant: Participant) => Upstream | undefined;
  scrubberOf: (participant: Participant) => Scrubber | undefined;
  filterFor: (participant: Participant) => ResponseFilterFor | undefined;
  slots: ForwardedSlots;
  /** A request of that hub goes on, over a tunnel that had lost its connection. */
  resumed: (participant: Participant, hubId: string, requestId: string) => void;
  reportBug: (error: unknown) => void;
}

/** Which slots other hubs have, beside those that every request takes. */
export interface ForwardedSlots {
  /** Frees a slot that is reserved for this hub. @returns false when none is */
  takeGrant(participant: Participant, hubId: string): boolean;
  /** The slot that was reserved is used by no request of that hub. */
  freed(participant: Participant): void;
  /** A request of that hub took a slot, or left it. */
  changed(participant: Participant, hubId: string, by: 1 | -1): void;
  /** Slots taken by others than that hub. */
  elsewhere(participant: Participant, hubId: string): number;
}

/** Serves a request that another hub forwards, at a participant of this hub, or refuses it. */
export function serveForwarded(
  deps: ForwardingDeps,
  request: ForwardedRequest,
  reply: ForwardReply,
): ForwardedCall {
  const participant =
    request.target.bootId === deps.bootId ? deps.findOwn(request.target) : undefined;
  if (participant === undefined || participant.remote !== undefined) {
    const message = `Hub ${deps.bootId} does not have that participant any more.`;
    reply.refuse({ reason: "unknown", message, elsewhere: undefined, limit: undefined });
    return nothing;
  }
  if (request.hops.includes(deps.bootId)) {
    reply.fail("routing_loop", `The request already passed the hub of ${participant.id}.`);
    return nothing;
  }
  const { hubId } = request.from;
  const hasGrant = deps.slots.takeGrant(participant, hubId);
  const upstream = deps.upstreamFor(participant);
  const refusal = refusalOf(deps, request, participant, upstream);
  if (refusal !== undefined || upstream === undefined) {
    const elsewhere = deps.slots.elsewhere(participant, hubId);
    const { reason = "unroutable", message = "Its path was lost." } = refusal ?? {};
    reply.refuse({ reason, message, elsewhere, limit: participant.limit });
    // Another may use what was reserved.
    if (hasGrant) {
      deps.slots.freed(participant);
      deps.queues.wake(participant.roomCode);
    }
    return nothing;
  }
  const call = new ServedForward(deps, participant, request, reply);
  call.begin();
  return call;
}

function refusalOf(
  { limits, nowMs, inFlight, isDraining }: ForwardingDeps,
  { capability }: ForwardedRequest,
  participant: Participant,
  upstream: Upstream | undefined,
): Pick<ForwardRefusal, "reason" | "message"> | undefined {
  const { id } = participant;
  // The sender has an older entry of it, and lets the request wait.
  if (isLoading(participant)) {
    return { reason: "loading", message: `${id} is loading, or moves to another hub.` };
  }
  if (isDraining()) return { reason: "overloaded", message: `The hub of ${id} is stopping.` };
  if (inFlight.size >= limits.inFlightPerHub) {
    return { reason: "overloaded", message: `The hub of ${id} runs too many requests.` };
  }
  if (capabilityOf(participant, capability) === "unsupported") {
    return { reason: "unsupported", message: `${id} does not support ${capability}.` };
  }
  // After a 503 the hub of the request decides whether it waits.
  const isReady = isRoutable(participant, nowMs) || isAwaited(participant, nowMs);
  if (upstream === undefined || !isReady) {
    const why = unroutableReason(participant, nowMs()) ?? "its path was lost";
    return { reason: "unroutable", message: `${id} cannot be reached now: ${why}` };
  }
  if (isFull(participant)) return { reason: "full", message: `${id} is full.` };
  return undefined;
}

const nothing: ForwardedCall = {
  onBody: () => true,
  onBodyEnd() {},
  onCancel() {},
  onDrain() {},
};

/** What a request may take longer here than its own hub lets it, which ends it first. */
const graceMs = 5_000;

/**
 * One request of another hub, from its slot to the end of its provider's work. The other hub has the client, its
 * deadlines and its events; here are the slot, the participant's defaults, and what its provider must not see of it or
 * the other hub of the provider.
 */
class ServedForward implements ForwardedCall, ResponseSink, RunningRequest {
  /** In {@link InFlight}. */
  place = -1;
  readonly #deps: ForwardingDeps;
  readonly #participant: Participant;
  readonly #request: ForwardedRequest;
  readonly #reply: ForwardReply;
  readonly #holder: SlotHolder;
  readonly #startedMs: number;
  readonly #requestsUsage: boolean;
  readonly #scrubber: Scrubber | undefined;
  readonly #filterFor: ResponseFilterFor | undefined;
  readonly #credentials: Participant["credentials"];
  readonly #pace: Participant["pace"];
  #machine: Machine | undefined;
  #body: Buffer[] = [];
  #heldBytes = 0;
  #filter: ResponseFilter | undefined;
  #call: UpstreamCall | undefined;
  #isOver = false;
  #isClosed = false;

  constructor(
    deps: ForwardingDeps,
    participant: Participant,
    request: ForwardedRequest,
    reply: ForwardReply,
  ) {
    this.#deps = deps;
    this.#participant = participant;
    this.#request = request;
    this.#reply = reply;
    this.#startedMs = deps.nowMs();
    this.#requestsUsage = request.mayRequestUsage && takesUsageRequest(participant);
    this.#scrubber = deps.scrubberOf(participant);
    this.#filterFor = deps.filterFor(participant);
    this.#credentials = participant.credentials;
    this.#pace = participant.pace;
    const { client, addressId } = request.sender;
    this.#holder = { address: addressId, person: personOf(client) };
  }

  get #from(): HubIdentity {
    return this.#request.from;
  }

  /** Takes the slot. Called once. */
  begin(): void {
    const { slots, inFlight, nowMs } = this.#deps;
    beginTrial(this.#participant, nowMs);
    const shows = showsOf(this.#participant);
    this.#machine = occupySlot(this.#participant, this.#holder, this.#startedMs);
    slots.changed(this.#participant, this.#from.hubId, 1);
    inFlight.add(this);
    this.#reply.admit({ requestsUsage: this.#requestsUsage, shows });
  }

  onBody(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    try {
      this.#deps.bodies.hold(chunk.length);
    } catch (thrown) {
      this.cut(thrown as HubError);
      return true;
    }
    this.#heldBytes += chunk.length;
    this.#body.push(chunk);
    return true;
  }

  onBodyEnd(): void {
    if (this.#isOver) return;
    const upstream = this.#deps.upstreamFor(this.#participant);
    if (upstream === undefined) {
      return this.cut(new HubError("tunnel_lost", `The path to ${this.#participant.id} was lost.`));
    }
    try {
      this.#call = upstream.open(this.#upstreamRequest(), this);
      this.#body = [];
    } catch (bug) {
      this.#deps.reportBug(bug);
      this.cut(new HubError("internal_error", "The hub of the participant failed."));
    }
  }

  onCancel(reason: string): void {
    this.#stop(reason);
  }

  onDrain(): void {
    if (!this.#isClosed) this.#call?.resume();
  }

  // — what comes from the participant —

  onHead(head: ResponseHead): void {
    if (this.#isOver) return;
    if (head.status < 300) this.#credentials.haveWorked = true;
    // It may last long, and is not sent again.
    if (this.#call?.isBodyTaken === true) this.#releaseBody();
    this.#filter = this.#filterFor?.(head.status);
    const { headers } = head;
    this.#reply.head({ ...head, headers: this.#filter?.headers(headers) ?? headers });
  }

  onData(chunk: Buffer): boolean {
    if (this.#isOver) return true;
    const passed = this.#filter === undefined ? chunk : this.#filter.push(chunk);
    return passed.length === 0 || this.#reply.write(passed);
  }

  onResumed(): void {
    if (this.#isOver) return;
    this.#deps.resumed(this.#participant, this.#from.hubId, this.#request.requestId);
  }

  onEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#writeRest(this.#filter?.end());
    this.#reply.end();
  }

  onFailure({ code, message }: UpstreamFailure): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#writeRest(this.#filter?.breakOff());
    this.#reply.fail(code, this.#scrubber?.(message) ?? message);
  }

  onClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isOver = true;
    const { nowMs, queues, slots, inFlight } = this.#deps;
    this.#releaseBody();
    inFlight.remove(this);
    releaseSlot(this.#participant, this.#machine, this.#holder, this.#startedMs);
    this.#pace.noteSlot(nowMs() - this.#startedMs);
    slots.changed(this.#participant, this.#from.hubId, -1);
    this.#reply.closed();
    const { roomCode } = this.#participant;
    for (const code of roomsToWake(roomCode, this.#machine)) queues.wake(code);
  }

  // — as one of this hub's running requests —

  /** The hub with the client lists it. */
  statusIn(): undefined {
    return undefined;
  }

  /** The hub with the client counts it. */
  noteResumed(): void {}

  tick(nowMs: number): void {
    if (this.#isOver || nowMs - this.#startedMs <= this.#request.remainingMs + graceMs) return;
    this.cut(new HubError("request_timeout", "The hub of the client did not end the request."));
  }

  cut(error: HubError): void {
    if (!this.#isOver) this.#reply.fail(error.code, error.message);
    this.#stop(error.message);
  }

  #stop(reason: string): void {
    this.#isOver = true;
    if (this.#call === undefined) this.onClosed();
    else this.#call.cancel(reason);
  }

  #releaseBody(): void {
    this.#body = [];
    this.#deps.bodies.release(this.#heldBytes);
    this.#heldBytes = 0;
  }

  #writeRest(rest: Buffer | undefined): void {
    if (rest !== undefined && rest.length > 0) this.#reply.write(rest);
  }

  #upstreamRequest() {
    const { method, path, protocol, isStream, headers, hops, sender, layout } = this.#request;
    const { model, config } = this.#participant;
    const options = { model, config, requestsUsage: this.#requestsUsage };
    const body =
      layout === undefined
        ? []
        : bodyForProvider(
            { chunks: this.#body, ...layout },
            { path: path.slice(1).split("?", 1)[0] ?? "" },
            options,
          );
    const passed = [...hops, this.#deps.bootId].join(",");
    return {
      ...{ method, path, protocol, isStream, body, sender },
      headers: { ...headers, "x-roomhub-hop": passed },
    };
  }
}
