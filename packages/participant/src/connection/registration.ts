import { normaliseHubUrl, RoomhubClient, RoomhubError } from "@roomhub/client";
import {
  HOME_EPOCH_HEADER,
  type JoinRequest,
  type JoinResponse,
  pinText,
  type TunnelAddress,
  withPin,
} from "@roomhub/protocol";
import type { Settings } from "../options.ts";
import { readJoin, StaleHomeError } from "./hub-verdict.ts";
import { KnownHubs, tunnelUrlAt, tunnelUrlOf } from "./known-hubs.ts";
import { HomeFence } from "./dial-course.ts";
import { createProxyFetch } from "./proxy.ts";

/** Number of ids that are tried before the join fails. */
const maxIds = 100;

/** How a participant is registered: at which hub, with which token, and where its tunnel goes. */
export class Registration {
  /** Which homes of the room it goes to. */
  readonly fence = new HomeFence();
  readonly #settings: Settings;
  readonly #hubs: KnownHubs;
  #givenUrl: string;
  /** the hub that is called, with its pin */
  #hubUrl: string;
  #client: RoomhubClient;
  #token: string | undefined;
  #tunnelUrl: URL | undefined;
  #isInCluster = false;
  #keepsSession = false;

  /** @throws InvalidHubUrlError */
  constructor(settings: Settings) {
    this.#settings = settings;
    this.#givenUrl = this.#hubUrl = givenUrlOf(settings);
    this.#client = this.#clientOf(this.#hubUrl);
    this.#hubs = new KnownHubs(this.#givenUrl, settings.world);
  }

  /** Authorises the tunnel; undefined before the first join. */
  get token(): string | undefined {
    return this.#token;
  }

  /** The room has a home: any hub leads to it. */
  get hasHome(): boolean {
    return this.fence.highest > 0;
  }

  /**
   * Where to dial. Any hub leads to the home of a room: after a lost connection, calls and dials go to the address that the
   * user named.
   *
   * @param isRedial - the connection was lost since the join
   * @returns undefined before the first join
   */
  whereToDial(isRedial: boolean): URL | undefined {
    this.#renewPin();
    if (!this.hasHome) return this.#tunnelUrl;
    const { room, joinRequest } = this.#settings;
    if (isRedial) this.#goTo(this.#givenUrl);
    return tunnelUrlAt(this.#hubUrl, room, joinRequest.id);
  }

  /** The session of a tunnel from before the last join can still be resumed. */
  get keepsSession(): boolean {
    return this.#keepsSession;
  }

  /** Where another hub of the cluster has this participant's tunnel; undefined for a place that is not one of them. */
  tunnelAt(announced: TunnelAddress): URL | undefined {
    return this.#hubs.tunnelUrl(announced);
  }

  /** Whether another hub can take this participant. */
  get hasOtherHubs(): boolean {
    return this.#hubs.hasOthers;
  }

  /**
   * Joins, in a cluster with the token of the last join: the participant stays the same one, whichever hub takes it.
   *
   * @param isMoving - at the next hub of the cluster
   * @returns the token and what the hub says of the join
   */
  async join(request: JoinRequest, isMoving: boolean, signal: AbortSignal) {
    this.#renewPin();
    if (isMoving && this.#hubs.hasOthers) this.#goTo(this.#hubs.next());
    const hubUrl = this.#hubUrl;
    const client = this.#client;
    const proof = this.#isInCluster ? this.#token : undefined;
    const response = await this.#joinAt(client, request, proof, signal);
    const joined = readJoin(response, proof);
    const refusal = this.fence.refusalOf(joined.homeEpoch);
    if (refusal !== undefined) throw new StaleHomeError(`the hub at ${client.hubUrl} ${refusal}`);
    const { participantToken: token } = joined;
    const { room, joinRequest } = this.#settings;
    const tunnelUrl = tunnelUrlOf(hubUrl, joined.tunnel, room, joinRequest.id);
    if (pinText(hubUrl) !== undefined && tunnelUrl.protocol !== "wss:")
      throw new Error(`the hub has a pin, and announced a tunnel without TLS: ${tunnelUrl.origin}`);
    const leadsToSession = this.hasHome || tunnelUrl.href === this.#tunnelUrl?.href;
    this.#keepsSession = token === this.#token && leadsToSession;
    this.#token = token;
    this.#tunnelUrl = tunnelUrl;
    this.#isInCluster = joined.hubs !== undefined || this.hasHome;
    this.#hubs.learn(hubUrl, joined.hubs ?? []);
    return joined;
  }

  /** An id that was not chosen is not taken from another participant: the first join tries the next ones. */
  async #joinAt(
    client: RoomhubClient,
    request: JoinRequest,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<JoinResponse> {
    const { room, joinRequest, nextId } = this.#settings;
    const isFirst = this.#token === undefined;
    const options = { token, signal, onlyIfNew: isFirst && nextId !== undefined };
    for (let attempt = 1; ; attempt++) {
      try {
        return await client.join(room, { ...request, id: joinRequest.id }, options);
      } catch (error) {
        const isTaken = error instanceof RoomhubError && error.code === "participant_id_taken";
        if (!isTaken || !isFirst || nextId === undefined || attempt === maxIds) throw error;
        joinRequest.id = nextId(joinRequest.id);
      }
    }
  }

  sendHeartbeat(token: string, signal: AbortSignal): Promise<unknown> {
    const { room, joinRequest } = this.#settings;
    return this.#client.heartbeat(room, joinRequest.id, { token, signal });
  }

  /** Before the first join, does nothing: the join will have the name. */
  async rename(model: string, signal: AbortSignal): Promise<void> {
    const { room, joinRequest } = this.#settings;
    const token = this.#token;
    if (token === undefined) return;
    await this.#client.updateParticipant(room, joinRequest.id, { model }, { token, signal });
  }

  async leave(signal: AbortSignal): Promise<void> {
    const { room, joinRequest } = this.#settings;
    const token = this.#token;
    if (token !== undefined) await this.#client.leave(room, joinRequest.id, { token, signal });
  }

  /** The hub's certificate may have been replaced. */
  #renewPin(): void {
    const [before, now] = [this.#givenUrl, givenUrlOf(this.#settings)];
    if (now === before) return;
    this.#givenUrl = now;
    if (this.#hubUrl === before) this.#goTo(now);
    // In place: a session that is to be resumed has the same URL.
    const { hash } = new URL(before);
    if (this.#tunnelUrl?.hash === hash) this.#tunnelUrl.hash = new URL(now).hash;
  }

  #goTo(hubUrl: string): void {
    this.#hubUrl = hubUrl;
    this.#client = this.#clientOf(hubUrl);
  }

  #clientOf(hubUrl: string): RoomhubClient {
    const { env, timing, world, key } = this.#settings;
    const send = createProxyFetch(env, pinText(hubUrl));
    return new RoomhubClient({
      ...{ hubUrl, world, key },
      timeoutMs: timing.hubCallMs,
      fetch: (url, init) => {
        if (!this.hasHome) return send(url, init);
        const headers = new Headers(init.headers);
        headers.set(HOME_EPOCH_HEADER, String(this.fence.highest));
        return send(url, { ...init, headers });
      },
    });
  }
}

/** The hub that the user named, with the key that it has now. @throws InvalidHubUrlError */
function givenUrlOf({ hubUrl, pin }: Settings): string {
  return withPin(normaliseHubUrl(hubUrl), pin());
}
