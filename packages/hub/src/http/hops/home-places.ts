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

const snapshotForm = /^\/v1\/cluster\/rooms\/([A-Z0-9]{1,32})\/snapshot$/;
/** Far above what the largest room has. */
const maxSnapshotBytes = 64 * 1024 * 1024;

/** Where the home of a room sends what the next home needs. */
export function snapshotPath(code: string): string {
  return `/v1/cluster/rooms/${code}/snapshot`;
}

export interface HomePlacesDeps {
  /** Which hub a connection comes from. */
  peerOf: (socket: object) => HopHub | undefined;
  deliveries: Deliveries;
  /** Where a request goes from here that came with a longer body, or has the beginning of a response. */
  onward: Pick<EntryPlaces, "again">;
  entered: RoomPlaces["entered"];
  /**
   * The home of a room offers it to this hub.
   *
   * @returns whether this hub keeps the snapshot until the directory names the room's next home; never rejects
   */
  takeOffer: (code: string, from: HopHub, snapshot: string) => Promise<boolean>;
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

  /**
   * Serves the offer of a room, a request that came from another hub itself: 204 when it is kept, else 409.
   *
   * @returns false for anything else
   */
  takes(request: IncomingMessage, response: ServerResponse): boolean {
    const { peerOf, takeOffer } = this.#deps;
    const code = request.method === "POST" ? snapshotForm.exec(request.url ?? "")?.[1] : undefined;
    const from = peerOf(request.socket);
    if (code === undefined || from === undefined) return false;
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxSnapshotBytes) request.destroy();
      else chunks.push(chunk);
    });
    request.on("end", () => {
      void takeOffer(code, from, Buffer.concat(chunks).toString("utf8")).then((isKept) =>
        response.writeHead(isKept ? 204 : 409).end(),
      );
    });
    return true;
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
