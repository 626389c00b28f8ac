import type { ClientIdentity, DetailEvent, HubEvent, InferenceProtocol } from "@roomhub/protocol";

/** An event of a stream opened with `?detail=1`. Contract §5. */
export type RoomEvent = HubEvent | DetailEvent;

/** A request that runs or waits now, as `GET /v1/rooms/:code/requests` lists it. */
export interface ListedRequest {
  requestId: string;
  /** the request's `model` field */
  selector: string;
  protocol: InferenceProtocol;
  client: ClientIdentity;
  /** 8 hex digits, the same for requests of one conversation; absent without a session */
  conversation?: string | undefined;
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
