import {
  ERROR_STATUS,
  type ErrorCode,
  type FailurePayload,
  HOME_EPOCH_HEADER,
  isObject,
  parseObject,
  PIPE_HEADER,
  type Roster,
  type RosterMember,
} from "@roomhub/protocol";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Home, HopHub, Place } from "../../hop/dial.ts";
import type { Hops } from "../../hop/hops.ts";
import { PipedRequest } from "../../hop/pipe.ts";
import { asHubError, HubError } from "../../errors.ts";
import type { ReadRequest } from "../../inference/inference-call.ts";
import { errorFrame } from "../../inference/response/error-frame.ts";
import type { Arrival, RoomPlaces, TunnelDial } from "./arrival.ts";
import type { FlushingResponses } from "../flushing-responses.ts";
import type { PeerReader } from "../peer.ts";
import { tunnelAddress } from "../tunnels/tunnel-address.ts";
import { discardRest } from "../unread-rest.ts";
import { encodeHopFacts } from "./hop-facts.ts";

/** Where rooms have their homes. */
export interface Homes {
  placeOf(code: string): Place;
  /** Resolves when the room has a home. @throws HubError `peer_unavailable` after 15 s */
  placed(code: string): Promise<Place>;
  /** That hub is not the home, or did not respond. */
  notServedBy(code: string, home: Home): void;
  /** An inference request is served here. @param hubId - the hub that the client sent it to */
  requestEntered(code: string, hubId: string): void;
}

type There = Extract<Place, { kind: "there" }>;

/** `elsewhere`: that hub responded that another one is the home. */
type PipedTo = "over" | "unreached" | "elsewhere";

interface Piped {
  pipe: (place: There) => Promise<PipedTo>;
  canBeServedHere: () => boolean;
}

/** In place of an epoch: a hub is dialled for a session that it has. */
const ofSession = 0;

/** Between two hubs that each take the other one for the home. */
const findHomeMs = 15_000;

/** A hub that takes no connection now, as one that is stopping, is not dialled again at once. */
const sameHomeAgainMs = 100;

/** A request that is piped, and the connection that it came over. */
export interface UnderWay extends RosterMember {
  readonly requestId: string;
  readonly connection: Duplex;
}

export interface EntryPlacesDeps {
  self: HopHub;
  homes: Homes;
  nowMs: () => number;
  pause: (ms: number) => Promise<void>;
  hops: Pick<Hops, "send" | "pipeUpgrade">;
  /**
   * The response of a request has left here, or its client has left before. Resolves when nothing more is to be said of it.
   */
  tell: (
    hubId: string,
    requestId: string,
    outcome: "delivered" | "gone",
    request: IncomingMessage,
  ) => void | Promise<void>;
  peers: PeerReader;
  flushing: FlushingResponses;
  /** Which other hub has the session of a tunnel. */
  hubOfSession: (session: string | undefined) => HopHub | undefined;
  /** Where agents reach another hub. */
  urlOf: (hubId: string) => string | undefined;
  /** The home of the room ended while it served the request: its next home says so in the room's events. */
  lost: (end: { code: string; payload: FailurePayload; status: number }, from: HopHub) => void;
  isDraining: () => boolean;
  /** piped requests that end by themselves */
  underWay: Roster<UnderWay>;
  /** @throws HubError `hub_overloaded` */
  refuseAtLimit: (underWay: number) => void;
}

/** At a hub that clients and agents reach: requests go to the homes of their rooms. */
export class EntryPlaces implements RoomPlaces {
  readonly #deps: EntryPlacesDeps;

  constructor(deps: EntryPlacesDeps) {
    this.#deps = deps;
  }

  request(target: Arrival, request: IncomingMessage, response: ServerResponse): void {
    this.#place(target, request, () => this.#openRequest(target, request, response, undefined));
  }

  entered(code: string): void {
    this.#deps.homes.requestEntered(code, this.#deps.self.hubId);
  }

  again(
    target: Arrival,
    request: IncomingMessage,
    response: ServerResponse,
    read: ReadRequest,
  ): void {
    const piped = this.#openRequest(target, request, response, read);
    void this.#send(target, request, this.#deps.homes.placeOf(target.code), piped).catch(
      (error: unknown) =>
        response.headersSent ? breakOff(response, target, error, true) : target.refuse(error),
    );
  }

  #openRequest(
    target: Arrival,
    request: IncomingMessage,
    response: ServerResponse,
    read: ReadRequest | undefined,
  ): Piped {
    const { hops, tell, nowMs } = this.#deps;
    const piped = new PipedRequest(request, response, read?.body);
    const startedMs = read?.startedMs ?? nowMs();
    // With the comments of a stream, which nothing else begins with.
    const hasBegun = response.headersSent;
    // A home may refuse what its client is still sending.
    response.once("prefinish", () => {
      if (!request.complete) discardRest(this.#deps.flushing, request);
    });
    const pipe = async (place: There): Promise<PipedTo> => {
      const { home } = place;
      // So that its client's next request comes to a hub that stays.
      if (this.#deps.isDraining()) response.shouldKeepAlive = false;
      const facts = this.#facts(target, request, place, startedMs);
      const outcome = await hops.send(piped, home, facts);
      switch (outcome.kind) {
        case "delivered":
        case "gone":
          await tell(home.hubId, target.requestId, outcome.kind, request);
          return "over";
        case "untaken":
          if (!piped.canBeSent) throw homeMoved(target.code);
          return outcome.wasReached ? "elsewhere" : "unreached";
        case "refused":
          breakOff(response, target, refusalIn(outcome.body), true);
          await tell(home.hubId, target.requestId, "delivered", request);
          return "over";
        case "broken":
          this.#lost(target, home, outcome.headers);
          if (!response.headersSent) throw homeLost();
          breakOff(response, target, homeLost(), hasBegun || isStream(outcome.headers));
          return "over";
      }
    };
    return { pipe, canBeServedHere: () => piped.isWhole };
  }

  upgrade(
    target: Arrival,
    tunnel: TunnelDial | undefined,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    const startedMs = this.#deps.nowMs();
    const pipe = async (place: There): Promise<PipedTo> => {
      if (tunnel !== undefined && follows(request)) this.#sendAway(target, tunnel, place);
      const facts = this.#facts(target, request, place, startedMs);
      const arriving = { request, socket, head };
      const outcome = await this.#deps.hops.pipeUpgrade(arriving, place.home, facts);
      if (outcome === "broken") throw homeLost();
      return outcome === "untaken" ? "unreached" : "over";
    };
    const piped = { pipe, canBeServedHere: () => true };
    const owner = this.#deps.hubOfSession(tunnel?.session);
    if (owner === undefined) return this.#place(target, request, () => piped);
    const home = { ...owner, epoch: ofSession };
    const first = { kind: "there", home, mustTake: false } as const;
    void this.#send(target, request, first, piped).catch(target.refuse);
  }

  /** @throws HubError where to dial instead */
  #sendAway({ code }: Arrival, tunnel: TunnelDial, { home, mustTake }: There): void {
    const url = this.#deps.urlOf(home.hubId);
    if (url === undefined || mustTake) return;
    const details = { tunnel: tunnelAddress(url, code, tunnel.participantId) };
    if (home.epoch === ofSession)
      throw new HubError("session_elsewhere", "Another hub has this tunnel's session.", details);
    throw new HubError("home_elsewhere", `Another hub is the home of room ${code}.`, {
      ...{ ...details, homeEpoch: home.epoch },
    });
  }

  /** Where its response began, the headers say who served it. */
  #lost(
    { code, requestId, surface }: Arrival,
    from: HopHub,
    headers: IncomingHttpHeaders = {},
  ): void {
    if (surface === undefined) return;
    const headerOf = (name: string) => headers[name]?.toString();
    const { message, code: errorCode, status } = homeLost();
    const payload: FailurePayload = {
      ...{ requestId, protocol: surface.protocol, client: { kind: "none", id: "" } },
      participantId: headerOf("x-roomhub-participant") ?? null,
      model: headerOf("x-roomhub-model") ?? null,
      ...{ nickname: null, endpoint: null, selector: null, alias: undefined },
      ...{ stage: "hub", error: message, code: errorCode },
      attempts: Number(headerOf("x-roomhub-attempts") ?? 0),
      queueMs: Number(headerOf("x-roomhub-queue-ms") ?? 0),
    };
    this.#deps.lost({ code, payload, status }, from);
  }

  #place(target: Arrival, request: IncomingMessage, open: () => Piped): void {
    const place = this.#deps.homes.placeOf(target.code);
    if (place.kind === "here") target.serve();
    else void this.#send(target, request, place, open()).catch(target.refuse);
  }

  async #send(
    target: Arrival,
    request: IncomingMessage,
    first: Place,
    piped: Piped,
  ): Promise<void> {
    const { code, requestId, surface, isLasting, serve } = target;
    const { self, homes, nowMs, pause, underWay, refuseAtLimit } = this.#deps;
    if (surface !== undefined) refuseAtLimit(underWay.size);
    const own = { requestId, connection: request.socket, place: -1 };
    if (!isLasting) underWay.add(own);
    let untilMs = nowMs() + findHomeMs;
    try {
      let place = first.kind === "wait" ? await homes.placed(code) : first;
      let before: Home | undefined;
      while (place.kind !== "here" || !piped.canBeServedHere()) {
        // What a home has read of its body and did not take comes to this hub as to any other.
        const home = place.kind === "there" ? place.home : { ...self, epoch: 0 };
        const mustTake = place.kind === "there" && place.mustTake;
        if (!mustTake && isSame(home, before)) await pause(sameHomeAgainMs);
        before = home;
        const sentMs = nowMs();
        const outcome = await piped.pipe({ kind: "there", home, mustTake });
        if (outcome === "over") return;
        // Before its room moved, the request may have waited in that hub's queue.
        if (outcome === "elsewhere") untilMs += nowMs() - sentMs;
        homes.notServedBy(code, home);
        if (nowMs() >= untilMs) throw homeUnknown(code);
        place = await homes.placed(code);
      }
    } finally {
      underWay.remove(own);
    }
    serve();
  }

  #facts(
    { requestId }: Arrival,
    request: IncomingMessage,
    { home, mustTake }: There,
    startedMs: number,
  ): string {
    const { peers, nowMs } = this.#deps;
    const ageMs = Math.round(nowMs() - startedMs);
    const { epoch } = home;
    const { throttleKey, ownAddress } = peers.sourceOf(request);
    const { address, isOperator } = peers.peerOf(request);
    const origin = peers.originOf(request);
    const client = { address, throttleKey, ownAddress, origin, isOperator };
    return encodeHopFacts({ requestId, ageMs, epoch, mustTake, ...client });
  }
}

function isSame(home: Home, before: Home | undefined): boolean {
  return home.hubId === before?.hubId && home.epoch === before.epoch;
}

function homeUnknown(code: string): HubError {
  return new HubError("peer_unavailable", `No hub says that it serves room ${code}.`, {
    retryAfterMs: 2_000,
  });
}

function homeMoved(code: string): HubError {
  const message = `Room ${code} moved to another hub while the request was read.`;
  return new HubError("peer_unavailable", message, { retryAfterMs: 1_000 });
}

/** The error of a response that came too late to be one. */
function refusalIn(body: string): HubError {
  const error = parseObject(body)?.["error"];
  const { message, code, param } = isObject(error) ? error : {};
  const known = typeof code === "string" && Object.hasOwn(ERROR_STATUS, code);
  return new HubError(
    known ? (code as ErrorCode) : "provider_error",
    typeof message === "string" ? message : "The participant refused the request.",
    { param: typeof param === "string" ? param : undefined },
  );
}

function homeLost(): HubError {
  return new HubError("peer_unavailable", "The hub that serves this room ended on the request.", {
    hint: "It may have been served: send it again only if that does no harm.",
    status: 502,
  });
}

/** An agent that knows of homes, and has not failed to reach the one that it was sent to. */
function follows({ headers }: IncomingMessage): boolean {
  return headers[HOME_EPOCH_HEADER] !== undefined && headers[PIPE_HEADER] !== "1";
}

function isStream(headers: IncomingHttpHeaders = {}): boolean {
  return headers["content-type"]?.startsWith("text/event-stream") === true;
}

/** The client must not take what it has of a response for whole. */
function breakOff(
  response: ServerResponse,
  { surface, requestId }: Arrival,
  thrown: unknown,
  isStream: boolean,
): void {
  if (surface === undefined || !isStream) return void response.destroy();
  const error = asHubError(thrown);
  // Part of an event may have left.
  const context = { isMidEvent: true, nextSequenceNumber: 0, response: undefined };
  response.end(errorFrame(error, surface.marker, context, requestId));
}
