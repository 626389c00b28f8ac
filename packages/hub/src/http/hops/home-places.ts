import type { IncomingMessage } from "node:http";
import type { HopHub } from "../../hop/dial.ts";
import { HubError } from "../../errors.ts";
import type { Arrival, PipedRequests, RoomPlaces } from "../front-deps.ts";
import type { ResponseOptions } from "../relay.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Homes, Place } from "./entry-places.ts";
import { decodeHopFacts, type HopFacts } from "./hop-facts.ts";

export interface HomePlacesDeps {
  /** Which hub a connection comes from. */
  peerOf: (socket: object) => HopHub | undefined;
  deliveries: Deliveries;
  homes: Pick<Homes, "placeOf" | "placed"> & {
    /** Another hub knows of a home with this epoch. */
    sawEpoch(code: string, epoch: number): void;
    /** Before {@link Homes.placed}: the home of that epoch is dead, and this hub is to take the room. */
    askedToTake(code: string, overEpoch: number): void;
  };
}

/** At the home of rooms: what other hubs pipe here is served, or refused. It is never piped again. */
export class HomePlaces implements RoomPlaces, PipedRequests {
  readonly #deps: HomePlacesDeps;
  readonly #facts = new WeakMap<IncomingMessage, HopFacts>();

  constructor(deps: HomePlacesDeps) {
    this.#deps = deps;
  }

  request(target: Arrival, request: IncomingMessage): void {
    this.#take(target, request);
  }

  upgrade(target: Arrival, _session: string | undefined, request: IncomingMessage): void {
    this.#take(target, request);
  }

  requestIdOf(request: IncomingMessage): string {
    return this.factsOf(request).requestId;
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
