import type {
  HubEvent,
  JoinRequest,
  JoinResponse,
  ModelEntry,
  ParticipantSummary,
  Room,
  RouteExplanation,
  RouteQuestion,
  UpdateParticipantRequest,
} from "@roomhub/protocol";
import type { CallOptions, OwnerCallOptions } from "./call-options.ts";
import type { EventStreamOptions } from "./event-stream.ts";

/** What a room needs of its hub: `RoomhubClient` has it. Each takes the room's code first. */
interface RoomCalls {
  readonly hubUrl: string;
  baseUrl(code: string): string;
  listParticipants(code: string, options?: CallOptions): Promise<ParticipantSummary[]>;
  getParticipant(code: string, id: string, options?: CallOptions): Promise<ParticipantSummary>;
  listModels(code: string, options?: CallOptions): Promise<ModelEntry[]>;
  explainRoute(
    code: string,
    question: RouteQuestion,
    options?: CallOptions,
  ): Promise<RouteExplanation>;
  events(code: string, options?: EventStreamOptions): AsyncIterable<HubEvent>;
  join(code: string, body: JoinRequest, options?: OwnerCallOptions): Promise<JoinResponse>;
  updateParticipant(
    code: string,
    id: string,
    patch: UpdateParticipantRequest,
    options?: OwnerCallOptions,
  ): Promise<JoinResponse>;
  leave(code: string, id: string, options?: OwnerCallOptions): Promise<void>;
}

/**
 * One room of a hub: its base URL, who is in it, and what happens there. Made by `RoomhubClient.room()` and `openRoom()`.
 * Holds no connection and needs no closing.
 *
 * Every method throws as those of `RoomhubClient` do.
 */
export class RoomClient {
  /** The hub's own URL, without a trailing slash. */
  readonly hubUrl: string;
  /** Upper case, as the hub spells it. */
  readonly code: string;
  readonly name: string;
  /** What an OpenAI SDK needs as its base URL: `{hub}/rooms/CODE/v1`. */
  readonly baseURL: string;
  /** The room as it was when it was looked up. */
  readonly info: Readonly<Room>;
  readonly #hub: RoomCalls;

  constructor(hub: RoomCalls, info: Room) {
    this.#hub = hub;
    this.hubUrl = hub.hubUrl;
    this.code = info.code;
    this.name = info.name;
    this.baseURL = hub.baseUrl(info.code);
    this.info = info;
  }

  /** Everybody, online or not, in the order they joined. */
  participants(options?: CallOptions): Promise<ParticipantSummary[]> {
    return this.#hub.listParticipants(this.code, options);
  }

  participant(id: string, options?: CallOptions): Promise<ParticipantSummary> {
    return this.#hub.getParticipant(this.code, id, options);
  }

  /** Everyone who can be named in a request's `model` field, routable ones first. Contract §4. */
  models(options?: CallOptions): Promise<ModelEntry[]> {
    return this.#hub.listModels(this.code, options);
  }

  /** Where a request with this `model` field would go now, and why. */
  explainRoute(question: RouteQuestion = {}, options?: CallOptions): Promise<RouteExplanation> {
    return this.#hub.explainRoute(this.code, question, options);
  }

  /**
   * Events as they happen here, for ever: breaks are waited out. `break`, or an aborted signal, ends the stream. What
   * falls into a gap is gone, for the hub replays nothing.
   *
   * @throws RoomhubError, HubUnreachableError when the first attempt fails, or waiting cannot cure a later one
   */
  events(options?: EventStreamOptions): AsyncIterable<HubEvent> {
    return this.#hub.events(this.code, options);
  }

  /** Registers an endpoint that the hub can reach by itself. One that it cannot is shared by `@roomhub/participant`. */
  join(body: JoinRequest, options?: OwnerCallOptions): Promise<JoinResponse> {
    return this.#hub.join(this.code, body, options);
  }

  updateParticipant(
    id: string,
    patch: UpdateParticipantRequest,
    options?: OwnerCallOptions,
  ): Promise<JoinResponse> {
    return this.#hub.updateParticipant(this.code, id, patch, options);
  }

  leave(id: string, options?: OwnerCallOptions): Promise<void> {
    return this.#hub.leave(this.code, id, options);
  }
}
