import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HopHub } from "../../hop/dial.ts";
import type { Hops } from "../../hop/hops.ts";
import { HubError } from "../../errors.ts";
import { errorFrame } from "../../inference/response/error-frame.ts";
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
  /** A request is under way to another hub: called when it is over. */
  began: () => () => void;
}

/** At a hub that clients and agents reach: requests go to the homes of their rooms. */
export class EntryPlaces implements RoomPlaces {
  readonly #deps: EntryPlacesDeps;

  constructor(deps: EntryPlacesDeps) {
    this.#deps = deps;
  }

  request(target: Arrival, request: IncomingMessage, response: ServerResponse): void {
    this.#place(target, () => this.#openRequest(target, request, response));
  }

  #openRequest(target: Arrival, request: IncomingMessage, response: ServerResponse): Piped {
    const { pipes } = this.#deps;
    const opened = pipes.open(request, response);
    const pipe = async (place: There): Promise<"over" | "again"> => {
      const { home } = place;
      const outcome = await opened.send(home, this.#facts(target, request, place));
      switch (outcome.kind) {
        case "delivered":
        case "gone":
          pipes.tell(home.hubId, target.requestId, outcome.kind);
          return "over";
        case "untaken":
          return "again";
        case "broken":
          if (!response.headersSent) throw homeLost();
          breakOff(response, target);
          return "over";
      }
    };
    return { pipe, canBeServedHere: () => opened.isWhole };
  }

  upgrade(target: Arrival, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const pipe = async (place: There): Promise<"over" | "again"> => {
      const facts = this.#facts(target, request, place);
      const arriving = { request, socket, head };
      const outcome = await this.#deps.pipes.pipeUpgrade(arriving, place.home, facts);
      if (outcome === "broken") throw homeLost();
      return outcome === "untaken" ? "again" : "over";
    };
    this.#place(target, () => ({ pipe, canBeServedHere: () => true }));
  }

  #place(target: Arrival, open: () => Piped): void {
    const place = this.#deps.homes.placeOf(target.code);
    if (place.kind === "here") target.serve();
    else void this.#send(target, place, open()).catch(target.refuse);
  }

  async #send({ code, serve }: Arrival, first: Place, piped: Piped): Promise<void> {
    const { self, homes, nowMs, began } = this.#deps;
    const ended = began();
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
      ended();
    }
    serve();
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
function breakOff(response: ServerResponse, { marker, requestId }: Arrival): void {
  const isStream = String(response.getHeader("content-type")).startsWith("text/event-stream");
  if (marker === undefined || !isStream) return void response.destroy();
  const error = homeLost();
  // Part of an event may have left.
  const context = { isMidEvent: true, nextSequenceNumber: 0, response: undefined };
  response.end(errorFrame(error, marker, context, requestId));
}
