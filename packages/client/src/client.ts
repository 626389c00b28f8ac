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
  type MeasuredFeatures,
  type ModelEntry,
  normaliseRoomCode,
  type ParticipantSummary,
  type RequestSummary,
  type Room,
  type RouteExplanation,
  type RouteQuestion,
  systemWorld,
  type UpdateParticipantRequest,
  withPin,
  type World,
} from "@roomhub/protocol";
import { callHub, type Fetch, type HubCall, type HubConnection } from "./connection.ts";
import { notAHub } from "./errors.ts";
import { type DetailStreamOptions, type EventStreamOptions, readEvents } from "./event-stream.ts";
import { keyInLink, normaliseHubUrl, parseInvite, pinIn } from "./hub-url.ts";
import { pinnedFetch } from "./pinned-fetch.ts";
import { type HostProof, RoomHost, roomPath } from "./room-host.ts";

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface OwnerCallOptions extends CallOptions {
  /** The `participantToken` from the join response; sent as `x-participant-token`, never in a URL. Contract §3. */
  token?: string | undefined;
}

export interface JoinCallOptions extends OwnerCallOptions {
  /** Takes no id over that another participant has: `participant_id_taken` then. Contract §3. Default false. */
  onlyIfNew?: boolean | undefined;
}

export interface HostCallOptions extends CallOptions {
  /** The `hostToken` from the room's creation; sent as `x-host-token`. Not needed on the hub's own machine. Contract §3. */
  hostToken?: string | undefined;
}

export interface RoomhubClientOptions {
  /** A trailing slash, `/v1` or `/rooms/CODE` is removed. With `#pin=sha256-…`, in Node: only the hub with that key. */
  hubUrl: string;
  /** The key of a closed room, `rhk_…`; sent as `Authorization: Bearer`, never in a URL. Contract §9. */
  key?: string | undefined;
  /** Default: the global `fetch`. */
  fetch?: Fetch | undefined;
  /** Timeout of one call. Default 30 000 ms; an event stream ends only after 50 s without data. */
  timeoutMs?: number | undefined;
  /** Time and timers. Default: the system's. */
  world?: World | undefined;
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
  /** @internal */
  readonly pinnedFetch: Fetch | undefined;
  readonly #connection: HubConnection;

  /** @throws InvalidHubUrlError */
  constructor(options: RoomhubClientOptions) {
    this.hubUrl = normaliseHubUrl(options.hubUrl);
    const pin = options.fetch === undefined ? pinIn(options.hubUrl) : undefined;
    this.pinnedFetch = pin === undefined ? undefined : pinnedFetch(pin);
    this.#connection = {
      hubUrl: this.hubUrl,
      // Called as a plain function: browsers reject a fetch whose `this` is not the window.
      fetch: options.fetch ?? this.pinnedFetch ?? ((url, init) => fetch(url, init)),
      timeoutMs: options.timeoutMs ?? 30_000,
      world: options.world ?? systemWorld,
      key: options.key,
    };
  }

  /** For `openAIOptions(room)` and the like. @internal */
  get key(): string | undefined {
    return this.#connection.key;
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

  /**
   * @param room - `closed`: its use needs a key, and the response has the first one
   * @param options - `operatorSecret`: for a hub on which only its operator creates rooms
   */
  createRoom(
    room: { name: string; password?: string | undefined; closed?: boolean | undefined },
    options?: CallOptions & Pick<HostProof, "operatorSecret">,
  ): Promise<CreateRoomResponse> {
    return this.#call("POST", "/v1/rooms", options, room);
  }

  /** What the host of a room may do, and the operator of the hub. */
  asHost(code: string, proof: HostProof): RoomHost {
    return new RoomHost(this.#connection, code, proof);
  }

  async listRooms(options?: CallOptions): Promise<Room[]> {
    return (await this.#get<{ rooms: Room[] }>("/v1/rooms", options)).rooms;
  }

  async getRoom(code: string, options?: CallOptions): Promise<Room> {
    return (await this.#get<{ room: Room }>(roomPath(code), options)).room;
  }

  /** The names that stand for models of the room, the oldest first. */
  async listAliases(code: string, options?: CallOptions): Promise<Alias[]> {
    return (await this.#get<{ aliases: Alias[] }>(`${roomPath(code)}/aliases`, options)).aliases;
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
    options?: HostCallOptions,
  ): Promise<Alias> {
    const body = { pattern, targets };
    const path = `${roomPath(code)}/aliases`;
    return (await this.#call<{ alias: Alias }>("POST", path, options, body)).alias;
  }

  /** @throws RoomhubError with code `host_token_required` or `alias_not_found` */
  async removeAlias(code: string, pattern: string, options?: HostCallOptions): Promise<void> {
    const query = new URLSearchParams({ pattern });
    await this.#call("DELETE", `${roomPath(code)}/aliases?${query}`, options);
  }

  /** Registers a participant, or replaces one registered with the same token. Returns a token if a new one was issued. */
  join(code: string, body: JoinRequest, options?: JoinCallOptions): Promise<JoinResponse> {
    const path = `/rooms/${encodeURIComponent(normaliseRoomCode(code))}/join`;
    return this.#call("POST", path, options, body);
  }

  /** Changes any subset of a participant's fields; `null` clears one. Joins if the id is new and all fields are present. */
  updateParticipant(
    code: string,
    id: string,
    patch: UpdateParticipantRequest,
    options?: OwnerCallOptions,
  ): Promise<JoinResponse> {
    return this.#call("PUT", participantPath(code, id), options, patch);
  }

  /**
   * Reports what requests have shown of a participant's model, instead of what was reported before; `{}` takes it back.
   *
   * @throws RoomhubError with code `host_token_required`
   */
  async setMeasuredFeatures(
    code: string,
    id: string,
    measured: MeasuredFeatures,
    options?: HostCallOptions,
  ): Promise<ParticipantSummary> {
    const path = `${participantPath(code, id)}/features`;
    return (await this.#call<OneParticipant>("PUT", path, options, measured)).participant;
  }

  async leave(code: string, id: string, options?: OwnerCallOptions): Promise<void> {
    await this.#call("DELETE", participantPath(code, id), options);
  }

  async listParticipants(code: string, options?: CallOptions): Promise<ParticipantSummary[]> {
    const path = `${roomPath(code)}/participants`;
    return (await this.#get<{ participants: ParticipantSummary[] }>(path, options)).participants;
  }

  async getParticipant(
    code: string,
    id: string,
    options?: CallOptions,
  ): Promise<ParticipantSummary> {
    return (await this.#get<OneParticipant>(participantPath(code, id), options)).participant;
  }

  /** Send at least one every 30 s to keep a participant without a tunnel online. Interface §3. */
  heartbeat(code: string, id: string, options?: OwnerCallOptions): Promise<HeartbeatResponse> {
    return this.#call("POST", `${participantPath(code, id)}/heartbeat`, options, {});
  }

  /** The requests that run or wait now, the oldest first: for a program that opens an event stream late. */
  async listRequests(code: string, options?: CallOptions): Promise<RequestSummary[]> {
    const path = `${roomPath(code)}/requests`;
    return (await this.#get<{ requests: RequestSummary[] }>(path, options)).requests;
  }

  /** The values that a request's `model` field can have, routable ones first. Contract §4. */
  async listModels(code: string, options?: CallOptions): Promise<ModelEntry[]> {
    return (await this.#get<{ data: ModelEntry[] }>(`${roomPath(code)}/models`, options)).data;
  }

  /**
   * Where a request with this `model` field would be routed now, and why. If the request would be refused, the result has
   * a `refusal`; the method does not throw.
   */
  explainRoute(
    code: string,
    question: RouteQuestion,
    options?: CallOptions,
  ): Promise<RouteExplanation> {
    const given = Object.entries(question)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]);
    return this.#get(`${roomPath(code)}/route?${new URLSearchParams(given)}`, options);
  }

  /** Also resolves for a draining hub, with `status: "draining"`. @throws `invalid_response` at another server with a `/v1/health` */
  async health(options?: CallOptions): Promise<HealthResponse> {
    const path = "/v1/health";
    const health = await this.#get<HealthResponse>(path, { ...options, accept: [503] });
    // A llama-server has a `status` there too.
    if (typeof health.version !== "string") throw notAHub(this.hubUrl + path);
    return health;
  }

  /** The hubs of the cluster, the one that responds first. @throws `not_found` at a hub that is alone */
  async listHubs(options?: CallOptions): Promise<HubEntry[]> {
    return (await this.#get<HubList>("/v1/cluster/hubs", options)).hubs;
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

  #get<T>(path: string, options?: HubCallOptions): Promise<T> {
    return this.#call("GET", path, options);
  }

  #call<T>(
    method: HubCall["method"],
    path: string,
    options?: HubCallOptions,
    body?: unknown,
  ): Promise<T> {
    return callHub(this.#connection, { ...options, method, path, body });
  }
}

/** What a call may have besides its request line and body. */
type HubCallOptions = Omit<HubCall, "method" | "path" | "body">;

interface OneParticipant {
  participant: ParticipantSummary;
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
  readonly #hub: RoomhubClient;

  constructor(hub: RoomhubClient, info: Room) {
    this.#hub = hub;
    this.hubUrl = hub.hubUrl;
    this.code = info.code;
    this.name = info.name;
    this.baseURL = hub.baseUrl(info.code);
    this.info = info;
  }

  /** The key of a closed room, as it was given. */
  get key(): string | undefined {
    return this.#hub.key;
  }

  /** For SDKs, where the invite has a pin: `fetch` for the hub with that key alone. */
  get fetch(): Fetch | undefined {
    return this.#hub.pinnedFetch;
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

export interface OpenRoomOptions extends Partial<RoomhubClientOptions>, CallOptions {}

/**
 * Opens a room by its invitation: a room code, a URL like `http://192.168.1.5:5050/rooms/ABC234`, with or without `/v1`, or
 * a link with `#key=…`.
 *
 * @param options - `hubUrl` is the hub for a bare room code; default `http://127.0.0.1:5050`
 * @throws InvalidHubUrlError, RoomhubError (`room_not_found`), HubUnreachableError
 */
export function openRoom(
  invite: string,
  { signal, ...options }: OpenRoomOptions = {},
): Promise<RoomClient> {
  const invited = parseInvite(invite, options.hubUrl ?? "http://127.0.0.1:5050");
  const { room } = invited;
  const pin = pinIn(invite) ?? pinIn(options.hubUrl ?? "");
  const hubUrl = withPin(invited.hubUrl, pin);
  const key = options.key ?? keyInLink(invite);
  return new RoomhubClient({ ...options, hubUrl, key }).room(room, { signal });
}

function participantPath(code: string, id: string): string {
  return `${roomPath(code)}/participants/${encodeURIComponent(id)}`;
}
