import type { IncomingMessage, ServerResponse } from "node:http";
import type { HopHub, Place } from "../../hop/dial.ts";
import { MAX_HELD_BYTES } from "../../hop/pipe.ts";
import { HubError } from "../../errors.ts";
import type { ReadRequest } from "../../inference/inference-call.ts";
import type { Arrival, RoomPlaces, TunnelDial } from "./arrival.ts";
import type { ResponseOptions } from "../relay.ts";
import type { Deliveries } from "./deliveries.ts";
import type { EntryPlaces, Homes } from "./entry-places.ts";
import { decodeHopFacts, type HopFacts } from "./hop-facts.ts";
import { servesOffer, type TakeOffer } from "./offers.ts";

export interface HomePlacesDeps {
  /** Which hub a connection comes from. */
  peerOf: (socket: object) => HopHub | undefined;
  deliveries: Deliveries;
  /** Where a request goes from here that came with a longer body, or has the beginning of a response. */
  onward: Pick<EntryPlaces, "again">;
  entered: RoomPlaces["entered"];
  /** The home of a room offers it to this hub. */
  takeOffer: TakeOffer;
  homes: Pick<Homes, "placeOf" | "placed"> & {
    /** Another hub knows of a home with this epoch. */
    sawEpoch(code: string, epoch: number): unknown;
    /** Before {@link Homes.placed}: the home of that epoch is dead, and this hub is to take the room. */
    askedToTake(code: string, overEpoch: number): void;
  };
}

/**
 * At the home of rooms: what other hubs pipe here is served, or refused. It is piped on only by a home that has taken it
 * and gave its room away since.
 */
export class HomePlaces implements RoomPlaces {
  readonly #deps: HomePlacesDeps;
  readonly #facts = new WeakMap<IncomingMessage, HopFacts>();

  constructor(deps: HomePlacesDeps) {
    this.#deps = deps;
  }

  request(target: Arrival, request: IncomingMessage): void {
    this.#take(target, request);
  }

  upgrade(target: Arrival, _tunnel: TunnelDial | undefined, request: IncomingMessage): void {
    this.#take(target, request);
  }

  entered(code: string, request: IncomingMessage): void {
    this.#deps.entered(code, request);
  }

  again(
    target: Arrival,
    request: IncomingMessage,
    response: ServerResponse,
    read: ReadRequest,
  ): void {
    const bytes = read.body.reduce((sum, { length }) => sum + length, 0);
    const isHeld = bytes <= MAX_HELD_BYTES && !response.headersSent;
    if (isHeld) target.refuse(notHome(target.code));
    else this.#deps.onward.again(target, request, response, read);
  }

  /** Takes a request that is from the other hub itself, not from a client. @returns whether it is served */
  takes(request: IncomingMessage, response: ServerResponse): boolean {
    const { peerOf, takeOffer } = this.#deps;
    return servesOffer(request, response, peerOf(request.socket), takeOffer);
  }

  deliveryOf({ socket }: IncomingMessage): ResponseOptions["delivery"] {
    const { peerOf, deliveries } = this.#deps;
    const peer = peerOf(socket);
    return peer && { deliveries, hubId: peer.hubId };
  }

  /** @throws HubError `bad_request` */
  factsOf(request: IncomingMessage): HopFacts {
    let facts = this.#facts.get(request);
    if (facts === undefined) {
      facts = decodeHopFacts(request.headers["x-roomhub-peer"]);
      this.#facts.set(request, facts);
    }
    return facts;
  }

  #take(target: Arrival, request: IncomingMessage): void {
    const { homes } = this.#deps;
    const { code, serve, refuse } = target;
    const { epoch, mustTake } = this.factsOf(request);
    if (mustTake) homes.askedToTake(code, epoch);
    else homes.sawEpoch(code, epoch);
    const settle = ({ kind }: Place) => (kind === "here" ? serve() : refuse(notHome(code)));
    const place = homes.placeOf(code);
    if (place.kind === "wait") homes.placed(code).then(settle).catch(refuse);
    else settle(place);
  }
}

function notHome(code: string): HubError {
  return new HubError("home_elsewhere", `Another hub is the home of room ${code}.`);
}
