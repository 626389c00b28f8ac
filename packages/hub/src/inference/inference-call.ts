import type { CountedResponse, Limits } from "@roomhub/protocol";
import type { Access } from "../domain/keys/access.ts";
import type { Participant } from "../domain/participant.ts";
import type { Room } from "../domain/room.ts";
import type { DetailWatch } from "../events/bus.ts";
import type { Emitter } from "../events/emit.ts";
import type { InferenceRequest } from "./request/inference-request.ts";
import type { ClientResponse } from "./client-response.ts";
import type { InFlight } from "./in-flight.ts";
import type { RoomQueues } from "./queue.ts";
import type { Sender } from "./sender/senders.ts";
import type { StoredResponses } from "./stored-responses.ts";
import type { Upstream } from "./upstream.ts";

/** Takes secrets out of a text. */
export type Scrubber = (text: string) => string;

/** The events of a request. */
export type RequestEmitter = Pick<
  Emitter,
  "llmRequest" | "llmComplete" | "llmError" | "requestQueued" | "requestFirst" | "requestProgress"
>;

/** What every request of one hub shares. Made in `hub.ts`. */
export interface DispatchDeps {
  bootId: string;
  limits: Limits;
  nowMs: () => number;
  /** epoch ms */
  wallMs: () => number;
  random: () => number;
  emit: RequestEmitter;
  detail: DetailWatch;
  queues: RoomQueues;
  inFlight: InFlight;
  storedResponses: StoredResponses;
  /** Whether the sender proves to own a participant that serves its owner first. */
  owns: (sender: Sender, participant: Participant) => boolean;
  /** How to reach a participant now; undefined when it has no open path. */
  upstreamFor: (participant: Participant) => Upstream | undefined;
  /** Scrubs the texts of a participant's provider; undefined when it has no secrets. */
  scrubberOf: (participant: Participant) => Scrubber | undefined;
  /** The agent of a participant refuses requests for its budget until then, in ms on the hub's clock. */
  participantRests: (participant: Participant, untilMs: number) => void;
  /** A model server is overloaded: other requests wait until then, in ms on the hub's clock. */
  participantOverloaded: (participant: Participant, untilMs: number) => void;
  /** An error of its model server named the context of a participant. */
  contextLearned: (participant: Participant, tokens: number) => void;
  reportBug: (error: unknown) => void;
  /**
   * Whether the room is moving, or has moved, to another home, where requests begin. Absent for a hub that is alone.
   */
  isLeaving?: ((roomCode: string) => boolean) | undefined;
}

/** A request that was read completely. */
export interface ReadRequest {
  /** as the client sent it */
  body: readonly Buffer[];
  /** ms on the hub's clock */
  startedMs: number;
}

/** Sends a request to the next home of its room. */
export type MoveRequest = (roomCode: string, read: ReadRequest) => void;

/** One inference request, read and ready to be routed. */
export interface InferenceCall {
  requestId: string;
  room: Room;
  request: InferenceRequest;
  /** hub ids this request already passed */
  hops: readonly string[];
  sender: Sender;
  /** to the room; the request ends with it */
  access: Access | undefined;
  /**
   * Counts what it costs for the daily tokens of its key. Called once, when it is over.
   *
   * @param response - undefined when the request costs nothing
   */
  spend?: ((response: Omit<CountedResponse, "requestBytes"> | undefined) => void) | undefined;
  /** ms on the hub's clock */
  startedMs: number;
  client: ClientResponse;
  /**
   * The room has another home before the request has begun: it is sent there and ends here without an event. Called
   * after {@link onSettled}. Absent for a request that cannot be sent on.
   */
  onMoved?: MoveRequest | undefined;
  /** The request is over and its body can be released. Called once. */
  onSettled: () => void;
}
