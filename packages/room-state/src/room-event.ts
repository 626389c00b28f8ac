import type { ClientIdentity, HubEvent, InferenceProtocol } from "@roomhub/protocol";

/** Who sends a request, and what for. Contract §5. */
interface RequestOrigin {
  requestId: string;
  /** the request's `model` field */
  selector: string;
  protocol: InferenceProtocol;
  client: ClientIdentity;
  /** 8 hex digits, the same for requests of one conversation; absent without a session */
  conversation?: string | undefined;
}

/** A request joined the room's queue. */
export interface RequestQueued extends RequestOrigin {
  type: "request.queued";
  /** 1-based, among the room's waiting requests */
  place: number;
}

/** The first generated content of a stream, or the first byte of another response. */
export interface RequestFirst {
  type: "request.first";
  requestId: string;
  participantId: string;
  ttftMs: number;
}

/** How much a stream has produced; at most one per request and second, and some are left out in a busy room. */
export interface RequestProgress {
  type: "request.progress";
  requestId: string;
  /** so far */
  outputTokens: number;
}

/** An event of a stream opened with `?detail=1`. Contract §5. */
export type RoomEvent = HubEvent | RequestQueued | RequestFirst | RequestProgress;

/** A request that runs or waits now, as `GET /v1/rooms/:code/requests` lists it. */
export interface ListedRequest extends RequestOrigin {
  state: "queued" | "running" | "streaming";
  place?: number | undefined;
  participantId?: string | undefined;
  model?: string | undefined;
  /** 0 while no participant got the request */
  attempt: number;
  /** epoch ms */
  startedAt: number;
  /** epoch ms of the first content */
  firstAt?: number | undefined;
  outputTokens?: number | undefined;
}
