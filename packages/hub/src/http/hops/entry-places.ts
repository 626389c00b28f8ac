import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HopHub } from "../../hop/dial.ts";
import type { Hops } from "../../hop/hops.ts";
import { HubError } from "../../errors.ts";
import { errorFrame } from "../../inference/response/error-frame.ts";
import type { LostRequest } from "../../operations/homes/lost-requests.ts";
import type { Arrival, RoomPlaces } from "../front-deps.ts";
import type { PeerReader } from "../peer.ts";
import { encodeHopFacts } from "./hop-facts.ts";

/** Another hub's home of a room. */
interface RoomHome extends HopHub {
  epoch: number;
}

/** Where a room is served: here, at another hub, or at none for now. */
export type Place =
  | { kind: "here" }
  /** `mustTake`: the home of that epoch is dead, and this hub is to take the room */
  | { kind: "there"; home: RoomHome; mustTake: boolean }
  | { kind: "wait" };

/** Where rooms have their homes. */
export interface Homes {
  placeOf(code: string): Place;
  /** Resolves when the room has a home. @throws HubError `peer_unavailable` after 15 s */
  placed(code: string): Promise<Place>;
  /** That hub is not the home, or did not respond. */
  notServedBy(code: string, home: RoomHome): void;
}

/** What the front needs of the hops to other hubs. */
interface Pipes extends Pick<Hops, "open" | "pipeUpgrade"> {
  /** The client of a request has all of its response, or left before. */
  tell(hubId: string, requestId: string, outcome: "delivered" | "gone"): void;
}

type There = Extract<Place, { kind: "there" }>;

interface Piped {
  pipe: (place: There) => Promise<"over" | "again">;
  canBeServedHere: () => boolean;
}

/** Between two hubs that each take the other one for the home. */
const findHomeMs = 15_000;

export interface EntryPlacesDeps {
  self: HopHub;
  homes: Homes;
  nowMs: () => number;
  pipes: Pipes;
  peers: PeerReader;
  /** Which other hub has the session of a tunnel. */
  hubOfSession: (session: string | undefined) => HopHub | undefined;
  /** The home of the room ended while it served the request: its next home says so in the room's events. */
  lost: (code: string, lost: LostRequest) => void;
  isDraining: () => boolean;
  /** @throws HubError `hub_overloaded` */
  refuseAtLimit: (underWay: number) => void;
}

/** At a hub that clients and agents reach: requests go to the homes of their rooms. */
export class EntryPlaces implements RoomPlaces {
  readonly #deps: EntryPlacesDeps;
  /** requests that are piped, without those that last */
  #underWay = 0;
  #whenEmpty: (() => void) | undefined;

  constructor(deps: EntryPlacesDeps) {
    this.#deps = deps;
  }

  /** Resolves when nothing is piped any more that ends by itself. */
  async emptied(): Promise<void> {
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
  }

  request(target: Arrival, request: IncomingMessage, response: ServerResponse): void {
    this.#place(target, () => this.#openRequest(target, request, response));
  }

  #openRequest(target: Arrival, request: IncomingMessage, response: ServerResponse): Piped {
    const { pipes } = this.#deps;
    const opened = pipes.open(request, response);
    const pipe = async (place: There): Promise<"over" | "again"> => {
      const { home } = place;
      // So that its client's next request comes to a hub that stays.
      if (this.#deps.isDraining()) response.shouldKeepAlive = false;
      const outcome = await opened.send(home, this.#facts(target, request, place));
      switch (outcome.kind) {
        case "delivered":
        case "gone":
          pipes.tell(home.hubId, target.requestId, outcome.kind);
          return "over";
        case "untaken":
          return "again";
        case "broken":
          this.#lost(target, response);
          if (!response.headersSent) throw homeLost();
          breakOff(response, target);
          return "over";
      }
    };
    return { pipe, canBeServedHere: () => opened.isWhole };
  }

  upgrade(
    target: Arrival,
    session: string | undefined,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    const pipe = async (place: There): Promise<"over" | "again"> => {
      const facts = this.#facts(target, request, place);
      const arriving = { request, socket, head };
      const outcome = await this.#deps.pipes.pipeUpgrade(arriving, place.home, facts);
      if (outcome === "broken") throw homeLost();
      return outcome === "untaken" ? "again" : "over";
    };
    const piped = { pipe, canBeServedHere: () => true };
    const owner = this.#deps.hubOfSession(session);
    if (owner === undefined) return this.#place(target, () => piped);
    const first = { kind: "there", home: { ...owner, epoch: 0 }, mustTake: false } as const;
    void this.#send(target, first, piped).catch(target.refuse);
  }

  /** Where its response began, the headers say who served it. */
  #lost({ code, requestId, surface }: Arrival, response: ServerResponse): void {
    if (surface === undefined) return;
    const headerOf = (name: string) => {
      const value = response.getHeader(name);
      return value === undefined ? undefined : String(value);
    };
    this.#deps.lost(code, {
      ...{ requestId, protocol: surface.protocol },
      participantId: headerOf("x-roomhub-participant"),
      model: headerOf("x-roomhub-model"),
      attempts: Number(headerOf("x-roomhub-attempts") ?? 0),
      queueMs: Number(headerOf("x-roomhub-queue-ms") ?? 0),
    });
  }

  #place(target: Arrival, open: () => Piped): void {
    const place = this.#deps.homes.placeOf(target.code);
    if (place.kind === "here") target.serve();
    else void this.#send(target, place, open()).catch(target.refuse);
  }

  async #send(target: Arrival, first: Place, piped: Piped): Promise<void> {
    const { code, surface, isLasting, serve } = target;
    const { self, homes, nowMs } = this.#deps;
    if (surface !== undefined) this.#deps.refuseAtLimit(this.#underWay);
    if (!isLasting) this.#underWay += 1;
    const untilMs = nowMs() + findHomeMs;
    try {
      let place = first.kind === "wait" ? await homes.placed(code) : first;
      while (place.kind !== "here" || !piped.canBeServedHere()) {
        // What a home has read of its body and did not take comes to this hub as to any other.
        const home = place.kind === "there" ? place.home : { ...self, epoch: 0 };
        const mustTake = place.kind === "there" && place.mustTake;
        if ((await piped.pipe({ kind: "there", home, mustTake })) === "over") return;
        homes.notServedBy(code, home);
        if (nowMs() >= untilMs) throw homeUnknown(code);
        place = await homes.placed(code);
      }
    } finally {
      if (!isLasting) this.#ended();
    }
    serve();
  }

  #ended(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#whenEmpty?.();
  }

  #facts({ requestId }: Arrival, request: IncomingMessage, { home, mustTake }: There): string {
    const { peers } = this.#deps;
    const { epoch } = home;
    const { throttleKey, ownAddress } = peers.sourceOf(request);
    const { address } = peers.peerOf(request);
    const origin = peers.originOf(request);
    return encodeHopFacts({ requestId, epoch, mustTake, address, throttleKey, ownAddress, origin });
  }
}

function homeUnknown(code: string): HubError {
  return new HubError("peer_unavailable", `No hub says that it serves room ${code}.`, {
    retryAfterMs: 2_000,
  });
}

function homeLost(): HubError {
  return new HubError("peer_unavailable", "The hub that serves this room ended on the request.", {
    hint: "It may have been served: send it again only if that does no harm.",
    status: 502,
  });
}

/** The home ended in the middle of a response: the client must not take it for whole. */
function breakOff(response: ServerResponse, { surface, requestId }: Arrival): void {
  const isStream = String(response.getHeader("content-type")).startsWith("text/event-stream");
  if (surface === undefined || !isStream) return void response.destroy();
  const error = homeLost();
  // Part of an event may have left.
  const context = { isMidEvent: true, nextSequenceNumber: 0, response: undefined };
  response.end(errorFrame(error, surface.marker, context, requestId));
}
