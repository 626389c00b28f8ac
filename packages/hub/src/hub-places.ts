import { pause, Roster, type World } from "@roomhub/protocol";
import { credentialsFrom } from "./credentials/tokens.ts";
import type { RoomHomes } from "./cluster/homes/room-homes.ts";
import type { RollCall } from "./cluster/hubs/roll-call.ts";
import type { HubIdentity } from "./domain/hub-identity.ts";
import type { Hops } from "./hop/hops.ts";
import type { Deliveries } from "./http/hops/deliveries.ts";
import { EntryPlaces, type EntryPlacesDeps, type UnderWay } from "./http/hops/entry-places.ts";
import { HomePlaces } from "./http/hops/home-places.ts";
import { createPipedPeerReader } from "./http/hops/hop-facts.ts";
import type { PeerReader } from "./http/peer.ts";
import type { HandOvers } from "./hub-hand-overs.ts";

export interface HubPlacesOptions {
  parts: Pick<EntryPlacesDeps, "nowMs" | "isDraining" | "refuseAtLimit" | "flushing"> & {
    world: World;
  };
  self: HubIdentity;
  homes: RoomHomes;
  hops: Hops;
  roll: RollCall;
  deliveries: Deliveries;
  handOvers: HandOvers;
}

/** Where requests for rooms are served, from this hub's clients and over hops. */
export class HubPlaces {
  readonly piped: HomePlaces;
  /** which clients those are that other hubs have judged */
  readonly pipedPeers: PeerReader;
  readonly #options: HubPlacesOptions;
  /** what is piped to other hubs and ends by itself */
  readonly #underWay = new Roster<UnderWay>();

  constructor(options: HubPlacesOptions) {
    this.#options = options;
    const { hops, roll, homes, deliveries, handOvers } = options;
    const peerOf = (socket: object) => hops.peerOf(socket);
    this.pipedPeers = createPipedPeerReader({
      credentialsFrom,
      factsOf: (request) => this.piped.factsOf(request),
      strangerOf: ({ socket }) => {
        const hubId = peerOf(socket)?.hubId;
        return hubId === undefined || roll.hubs.isOnThisComputer(hubId) ? undefined : hubId;
      },
    });
    const onward = this.#entry(this.pipedPeers, (hubId, requestId, outcome, { socket: hop }) => {
      const peer = peerOf(hop);
      if (peer === undefined || outcome === "gone") return this.#say(hubId, requestId, "gone");
      // What left here is not with the client yet.
      return new Promise((resolve) => {
        const onEnd = (what: "delivered" | "gone") => {
          this.#say(hubId, requestId, what);
          resolve();
        };
        deliveries.expect(requestId, { hubId: peer.hubId, hop, onEnd });
      });
    });
    this.piped = new HomePlaces({
      ...{ peerOf, deliveries, homes, onward },
      takeOffer: (code, from, snapshot) => handOvers.takeOffer(code, from, snapshot),
      entered: (code, request) => {
        const hubId = peerOf(request.socket)?.hubId;
        if (hubId === undefined) return;
        homes.requestEntered(code, hubId);
        handOvers.events.piped(this.piped.factsOf(request).requestId, hubId);
      },
    });
  }

  /** @param peers - who this hub's own clients are */
  entry(peers: PeerReader): EntryPlaces {
    return this.#entry(peers, (hubId, requestId, outcome) => this.#say(hubId, requestId, outcome));
  }

  #say(hubId: string, requestId: string, outcome: "delivered" | "gone"): void {
    const { self, hops, deliveries } = this.#options;
    // What this hub had read when it became the home came over a hop of its own.
    if (hubId === self.hubId) deliveries.end(requestId, outcome);
    else hops.control.say(hubId, outcome, requestId);
  }

  /** Resolves when nothing is piped any more that ends by itself. */
  emptied(): Promise<void> {
    return this.#underWay.emptied();
  }

  /** The client of a piped request has read nothing for too long: it is disconnected. Contract §6. */
  stalled(requestId: string): void {
    this.#underWay.forEach(({ connection, requestId: own }) => {
      if (own !== requestId) return;
      const before = this.#options.hops.peerOf(connection);
      if (before !== undefined) this.#options.hops.control.say(before.hubId, "stalled", requestId);
      connection.destroy();
    });
  }

  /** A request that came over this connection is piped to another hub, and ends by itself. */
  isPiping(connection: object): boolean {
    let isFound = false;
    this.#underWay.forEach((one) => (isFound ||= one.connection === connection));
    return isFound;
  }

  #entry(peers: PeerReader, tell: EntryPlacesDeps["tell"]): EntryPlaces {
    const { parts, hops, homes, self, roll, handOvers } = this.#options;
    return new EntryPlaces({
      ...{ ...parts, self, homes, hops, tell, underWay: this.#underWay },
      pause: (ms) => pause(parts.world, ms),
      hubOfSession: (session) => this.#hubOfSession(session),
      urlOf: (hubId) => roll.hubs.get(hubId)?.advertiseUrl,
      lost: (end, from) => {
        const timestamp = new Date(parts.world.wallMs()).toISOString();
        handOvers.events.lost({ name: "llm.error", timestamp, ...end }, from);
      },
      peers,
    });
  }

  /** A session's name begins with the id of its hub. */
  #hubOfSession(session: string | undefined): HubIdentity | undefined {
    if (session === undefined) return undefined;
    const hubs = this.#options.roll.hubs.list();
    return hubs.find(({ hubId }) => session.startsWith(`${hubId}-`));
  }
}
