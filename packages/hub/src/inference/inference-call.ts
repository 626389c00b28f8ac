import type { Limits, Surface } from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import type { Room } from "../domain/room.ts";
import type { Emitter } from "../events/emit.ts";
import type { ClientResponse } from "./client-response.ts";
import type { InFlight } from "./in-flight.ts";
import type { RoomQueues } from "./queue.ts";
import type { RequestBody } from "./request-head.ts";
import type { Upstream } from "./upstream.ts";

/** What every request of one hub shares. Made in `hub.ts`. */
export interface DispatchDeps {
  bootId: string;
  limits: Limits;
  nowMs: () => number;
  random: () => number;
  emit: Pick<Emitter, "llmRequest" | "llmComplete" | "llmError">;
  queues: RoomQueues;
  inFlight: InFlight;
  /** How to reach a participant now; undefined when its path is gone. */
  upstreamFor: (participant: Participant) => Upstream | undefined;
  /** Takes a participant's secrets out of a text from its provider. */
  scrub: (participant: Participant, text: string) => string;
  reportBug: (error: unknown) => void;
}

/** One inference request, read and ready to be routed. */
export interface InferenceCall {
  requestId: string;
  room: Room;
  surface: Surface;
  body: RequestBody;
  /** what the provider may see of the client's headers */
  headers: Record<string, string>;
  /** hub ids this request already passed */
  hops: readonly string[];
  /** whose turn in the queue it takes */
  clientKey: string;
  /** ms on the hub's clock */
  startedMs: number;
  client: ClientResponse;
  /** The request is over; its body need not be held any longer. Called once. */
  onSettled: () => void;
}
