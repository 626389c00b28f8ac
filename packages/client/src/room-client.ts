import type {
  Alias,
  DetailEvent,
  HubEvent,
  JoinRequest,
  JoinResponse,
  ModelEntry,
  ParticipantSummary,
  RequestSummary,
  Room,
  RouteExplanation,
  RouteQuestion,
  UpdateParticipantRequest,
} from "@roomhub/protocol";
import type {
  CallOptions,
  HostCallOptions,
  JoinCallOptions,
  OwnerCallOptions,
} from "./call-options.ts";
import type { DetailStreamOptions, EventStreamOptions } from "./event-stream.ts";

/** The methods of `RoomhubClient` that a room uses. Each takes the room code first. */
interface RoomCalls {
  readonly hubUrl: string;
  baseUrl(code: string): string;
  listParticipants(code: string, options?: CallOptions): Promise<ParticipantSummary[]>;
  getParticipant(code: string, id: string, options?: CallOptions): Promise<ParticipantSummary>;
  listRequests(code: string, options?: CallOptions): Promise<RequestSummary[]>;
  listModels(code: string, options?: CallOptions): Promise<ModelEntry[]>;
  listAliases(code: string, options?: CallOptions): Promise<Alias[]>;
  setAlias(
    code: string,
    pattern: string,
    targets: readonly string[],
    options?: HostCallOptions,
  ): Promise<Alias>;
  removeAlias(code: string, pattern: string, options?: HostCallOptions): Promise<void>;
  explainRoute(
    code: string,
    question: RouteQuestion,
    options?: CallOptions,
  ): Promise<RouteExplanation>;
  events(code: string, options: DetailStreamOptions): AsyncIterable<HubEvent | DetailEvent>;
  events(code: string, options?: EventStreamOptions): AsyncIterable<HubEvent>;
  join(code: string, body: JoinRequest, options?: JoinCallOptions): Promise<JoinResponse>;
  updateParticipant(
    code: string,
    id: string,
    patch: UpdateParticipantRequest,
    options?: OwnerCallOptions,
  ): Promise<JoinResponse>;
  leave(code: string, id: string, options?: OwnerCallOptions): Promise<void>;
}

/**
 * One room of a hub: its base URL, participants and events. Created by `RoomhubClient.room()` and `openRoom()`. Holds no
 * connection and needs no closing.
 *
 * Every method throws the same errors as `RoomhubClient`.
 */
export class RoomClient {
  /** The hub URL without a trailing slash. */
  readonly hubUrl: string;
  /** Upper case. */
  readonly code: string;
  readonly name: string;
  /** The base URL for an OpenAI SDK: `{hub}/rooms/CODE/v1`. */
  readonly baseURL: string;
  /** The room at the time it was looked up. */
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

  /** All participants, online or not, in join order. */
  participants(options?: CallOptions): Promise<ParticipantSummary[]> {
    return this.#hub.listParticipants(this.code, options);
  }

  participant(id: string, options?: CallOptions): Promise<ParticipantSummary> {
    return this.#hub.getParticipant(this.code, id, options);
  }

  /** The requests that run or wait now, the oldest first. */
  requests(options?: CallOptions): Promise<RequestSummary[]> {
    return this.#hub.listRequests(this.code, options);
  }

  /** The values that a request's `model` field can have, routable ones first. Contract §4. */
  models(options?: CallOptions): Promise<ModelEntry[]> {
    return this.#hub.listModels(this.code, options);
  }

  /** The names that stand for models of the room, the oldest first. */
  aliases(options?: CallOptions): Promise<Alias[]> {
    return this.#hub.listAliases(this.code, options);
  }

  /** Adds an alias, or gives a known pattern other targets, which are tried in this order. */
  setAlias(pattern: string, targets: readonly string[], options?: HostCallOptions): Promise<Alias> {
    return this.#hub.setAlias(this.code, pattern, targets, options);
  }

  removeAlias(pattern: string, options?: HostCallOptions): Promise<void> {
    return this.#hub.removeAlias(this.code, pattern, options);
  }

  /** Where a request with this `model` field would be routed now, and why. */
  explainRoute(question: RouteQuestion = {}, options?: CallOptions): Promise<RouteExplanation> {
    return this.#hub.explainRoute(this.code, question, options);
  }

  /**
   * Live events of this room. Reconnects until `break` or an aborted signal ends the iteration. Events during a
   * disconnect are lost, because the hub replays nothing. With `detail: true` also the `request.*` events of requests
   * that wait and generate.
   *
   * @throws RoomhubError, HubUnreachableError when the first attempt fails, or a later one that a retry cannot fix
   */
  events(options: DetailStreamOptions): AsyncIterable<HubEvent | DetailEvent>;
  events(options?: EventStreamOptions): AsyncIterable<HubEvent>;
  events(
    options?: EventStreamOptions | DetailStreamOptions,
  ): AsyncIterable<HubEvent | DetailEvent> {
    return this.#hub.events(this.code, options);
  }

  /** Registers an endpoint that the hub can reach. Use `@roomhub/participant` to share one that it cannot reach. */
  join(body: JoinRequest, options?: JoinCallOptions): Promise<JoinResponse> {
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
