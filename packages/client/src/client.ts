import {
  type Alias,
  type CreateRoomResponse,
  type DetailEvent,
  type HealthResponse,
  type HubEntry,
  type HubList,
  type HeartbeatResponse,
  type HubEvent,
  type JoinRequest,
  type JoinResponse,
  type ModelEntry,
  normaliseRoomCode,
  type ParticipantSummary,
  type RequestSummary,
  type Room,
  type RouteExplanation,
  type RouteQuestion,
  type UpdateParticipantRequest,
} from "@roomhub/protocol";
import type {
  CallOptions,
  HostCallOptions,
  JoinCallOptions,
  OwnerCallOptions,
} from "./call-options.ts";
import { callHub, type Fetch, type HubConnection } from "./connection.ts";
import { notAHub } from "./errors.ts";
import { type DetailStreamOptions, type EventStreamOptions, readEvents } from "./event-stream.ts";
import { normaliseHubUrl } from "./hub-url.ts";
import { RoomClient } from "./room-client.ts";

export interface RoomhubClientOptions {
  /** A trailing slash, `/v1` or `/rooms/CODE` is removed. */
  hubUrl: string;
  /** Default: the global `fetch`. */
  fetch?: Fetch | undefined;
  /** Timeout of one call. Default 30 000 ms; an event stream ends only after 50 s without data. */
  timeoutMs?: number | undefined;
}

/**
 * The management API of one hub. Holds no connection and needs no closing. To work in one room, use
 * {@link RoomhubClient.room}.
 *
 * Every method throws `RoomhubError` for an error response, `HubUnreachableError` when there is no response, and the
 * signal's reason when aborted. Room codes are case-insensitive.
 */
export class RoomhubClient {
  readonly hubUrl: string;
  readonly #connection: HubConnection;

  /** @throws InvalidHubUrlError */
  constructor(options: RoomhubClientOptions) {
    this.hubUrl = normaliseHubUrl(options.hubUrl);
    this.#connection = {
      hubUrl: this.hubUrl,
      // Called as a plain function: browsers reject a fetch whose `this` is not the window.
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      timeoutMs: options.timeoutMs ?? 30_000,
    };
  }

  /** The base URL for an OpenAI SDK: `{hub}/rooms/CODE/v1`. */
  baseUrl(code: string): string {
    return `${this.hubUrl}/rooms/${encodeURIComponent(normaliseRoomCode(code))}/v1`;
  }

  /**
   * Looks up a room, so that a wrong code fails early.
   *
   * @throws RoomhubError with code `room_not_found`
   */
  async room(code: string, options?: CallOptions): Promise<RoomClient> {
    return new RoomClient(this, await this.getRoom(code, options));
  }

  createRoom(
    room: { name: string; password?: string | undefined },
    { signal }: CallOptions = {},
  ): Promise<CreateRoomResponse> {
    return callHub(this.#connection, { method: "POST", path: "/v1/rooms", body: room, signal });
  }

  async listRooms({ signal }: CallOptions = {}): Promise<Room[]> {
    const path = "/v1/rooms";
    return (await callHub<{ rooms: Room[] }>(this.#connection, { method: "GET", path, signal }))
      .rooms;
  }

  async getRoom(code: string, { signal }: CallOptions = {}): Promise<Room> {
    const path = roomPath(code);
    return (await callHub<{ room: Room }>(this.#connection, { method: "GET", path, signal })).room;
  }

  /** The names that stand for models of the room, the oldest first. */
  async listAliases(code: string, { signal }: CallOptions = {}): Promise<Alias[]> {
    const call = { method: "GET", path: `${roomPath(code)}/aliases`, signal } as const;
    return (await callHub<{ aliases: Alias[] }>(this.#connection, call)).aliases;
  }

  /**
   * Adds an alias, or gives a known pattern other targets.
   *
   * @param pattern - a name in which `*` stands for any text
   * @param targets - values of the `model` field, in the order in which they are tried
   * @throws RoomhubError with code `host_token_required`, `alias_loop` or `alias_limit_reached`
   */
  async setAlias(
    code: string,
    pattern: string,
    targets: readonly string[],
    { hostToken, signal }: HostCallOptions = {},
  ): Promise<Alias> {
    const path = `${roomPath(code)}/aliases`;
    const body = { pattern, targets };
    const call = { method: "POST", path, body, hostToken, signal } as const;
    return (await callHub<{ alias: Alias }>(this.#connection, call)).alias;
  }

  /** @throws RoomhubError with code `host_token_required` or `alias_not_found` */
  async removeAlias(
    code: string,
    pattern: string,
    { hostToken, signal }: HostCallOptions = {},
  ): Promise<void> {
    const path = `${roomPath(code)}/aliases?${new URLSearchParams({ pattern })}`;
    await callHub(this.#connection, { method: "DELETE", path, hostToken, signal });
  }

  /** Registers a participant, or replaces one registered with the same token. Returns a token if a new one was issued. */
  join(
    code: string,
    body: JoinRequest,
    { token, onlyIfNew, signal }: JoinCallOptions = {},
  ): Promise<JoinResponse> {
    const path = `/rooms/${encodeURIComponent(normaliseRoomCode(code))}/join`;
    return callHub(this.#connection, { method: "POST", path, body, token, onlyIfNew, signal });
  }

  /** Changes any subset of a participant's fields; `null` clears one. Joins if the id is new and all fields are present. */
  updateParticipant(
    code: string,
    id: string,
    patch: UpdateParticipantRequest,
    { token, signal }: OwnerCallOptions = {},
  ): Promise<JoinResponse> {
    const path = participantPath(code, id);
    return callHub(this.#connection, { method: "PUT", path, body: patch, token, signal });
  }

  async leave(code: string, id: string, { token, signal }: OwnerCallOptions = {}): Promise<void> {
    const path = participantPath(code, id);
    await callHub(this.#connection, { method: "DELETE", path, token, signal });
  }

  async listParticipants(
    code: string,
    { signal }: CallOptions = {},
  ): Promise<ParticipantSummary[]> {
    const path = `${roomPath(code)}/participants`;
    const call = { method: "GET", path, signal } as const;
    return (await callHub<{ participants: ParticipantSummary[] }>(this.#connection, call))
      .participants;
  }

  async getParticipant(
    code: string,
    id: string,
    { signal }: CallOptions = {},
  ): Promise<ParticipantSummary> {
    const call = { method: "GET", path: participantPath(code, id), signal } as const;
    return (await callHub<{ participant: ParticipantSummary }>(this.#connection, call)).participant;
  }

  /** Send at least one every 30 s to keep a participant without a tunnel online. Interface §3. */
  heartbeat(
    code: string,
    id: string,
    { token, signal }: OwnerCallOptions = {},
  ): Promise<HeartbeatResponse> {
    const path = `${participantPath(code, id)}/heartbeat`;
    return callHub(this.#connection, { method: "POST", path, body: {}, token, signal });
  }

  /** The requests that run or wait now, the oldest first: for a program that opens an event stream late. */
  async listRequests(code: string, { signal }: CallOptions = {}): Promise<RequestSummary[]> {
    const call = { method: "GET", path: `${roomPath(code)}/requests`, signal } as const;
    return (await callHub<{ requests: RequestSummary[] }>(this.#connection, call)).requests;
  }

  /** The values that a request's `model` field can have, routable ones first. Contract §4. */
  async listModels(code: string, { signal }: CallOptions = {}): Promise<ModelEntry[]> {
    const call = { method: "GET", path: `${roomPath(code)}/models`, signal } as const;
    return (await callHub<{ data: ModelEntry[] }>(this.#connection, call)).data;
  }

  /**
   * Where a request with this `model` field would be routed now, and why. If the request would be refused, the result has
   * a `refusal`; the method does not throw.
   */
  explainRoute(
    code: string,
    question: RouteQuestion,
    { signal }: CallOptions = {},
  ): Promise<RouteExplanation> {
    const given = Object.entries(question)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]);
    const path = `${roomPath(code)}/route?${new URLSearchParams(given)}`;
    return callHub(this.#connection, { method: "GET", path, signal });
  }

  /** Also resolves for a draining hub, with `status: "draining"`. @throws `invalid_response` at another server with a `/v1/health` */
  async health({ signal }: CallOptions = {}): Promise<HealthResponse> {
    const call = { method: "GET", path: "/v1/health", signal, accept: [503] } as const;
    const health = await callHub<HealthResponse>(this.#connection, call);
    // A llama-server has a `status` there too.
    if (typeof health.version !== "string") throw notAHub(this.hubUrl + call.path);
    return health;
  }

  /** The hubs of the cluster, the one that responds first. @throws `not_found` at a hub that is alone */
  async listHubs({ signal }: CallOptions = {}): Promise<HubEntry[]> {
    const call = { method: "GET", path: "/v1/cluster/hubs", signal } as const;
    return (await callHub<HubList>(this.#connection, call)).hubs;
  }

  /**
   * Live events of one room or of the whole hub (`undefined`), with `detail: true` also of requests that wait and generate. See {@link readEvents} for buffering, reconnecting, ending
   * and errors.
   */
  events(
    code: string | undefined,
    options: DetailStreamOptions,
  ): AsyncIterable<HubEvent | DetailEvent>;
  events(code?: string, options?: EventStreamOptions): AsyncIterable<HubEvent>;
  events(
    code?: string,
    options: EventStreamOptions | DetailStreamOptions = {},
  ): AsyncIterable<HubEvent | DetailEvent> {
    const path = code === undefined ? "/v1/events" : `${roomPath(code)}/events`;
    const query = "detail" in options && options.detail ? "?detail=1" : "";
    return readEvents(this.#connection, path + query, options);
  }
}

function roomPath(code: string): string {
  return `/v1/rooms/${encodeURIComponent(normaliseRoomCode(code))}`;
}

function participantPath(code: string, id: string): string {
  return `${roomPath(code)}/participants/${encodeURIComponent(id)}`;
}
