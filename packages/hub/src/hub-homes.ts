import { isLoopbackHost, pinText, withPin, type World } from "@roomhub/protocol";
import type { Duplex } from "node:stream";
import type { ClusterDirectory, DirectoryListener } from "./cluster/directory.ts";
import type { HomeHooks } from "./cluster/homes/home-states.ts";
import { RoomHomes } from "./cluster/homes/room-homes.ts";
import { hubIdOf, type HubUrls } from "./cluster/hubs/hub-presence.ts";
import { RollCall } from "./cluster/hubs/roll-call.ts";
import type { HubIdentity } from "./domain/hub-identity.ts";
import type { HubWideWatch } from "./events/bus.ts";
import type { RoomEvent } from "./events/emit.ts";
import type { HopNote } from "./hop/outbox.ts";
import type { HopTarget } from "./hop/dial.ts";
import { Hops } from "./hop/hops.ts";
import type { FlushingResponses } from "./http/flushing-responses.ts";
import type { FrontCluster, FrontDeps } from "./http/front-deps.ts";
import { Deliveries } from "./http/hops/deliveries.ts";
import type { EntryPlacesDeps } from "./http/hops/entry-places.ts";
import { EventsElsewhere } from "./http/hops/events-elsewhere.ts";
import { encodeHopFacts, factsOfHub } from "./http/hops/hop-facts.ts";
import {
  type OtherHubs,
  type RoomsElsewhere,
  roomsElsewhere,
} from "./http/hops/rooms-elsewhere.ts";
import { HandOvers, type HandOverParts } from "./hub-hand-overs.ts";
import { HubPlaces } from "./hub-places.ts";
import { GivenRoom } from "./hub-snapshot.ts";
import { ClusterRooms, type ClusterRoomsParts } from "./hub-rooms.ts";
import { releaseParticipants } from "./operations/homes/restore-participants.ts";
import { storeSpent } from "./operations/keys.ts";
import type { ClusterOptions } from "./options.ts";

/** Those who watch a room go to its next home soon. */
const watchAgainMs = 200;

/** Lists name a hub that takes longer. Contract §8. */
const answerMs = 1_000;

/** What this hub's part in a cluster needs of the hub. */
export interface HomesParts
  extends HandOverParts, ClusterRoomsParts, Pick<EntryPlacesDeps, "isDraining" | "refuseAtLimit"> {
  bootId: string;
  version: string;
  /** of this hub, where invites pin its key: the others accept that key alone */
  pin: string | undefined;
  /** with the hub's own time, see {@link createClock} */
  world: World;
  /** with the machine's */
  source: World;
  flushing: FlushingResponses;
  /** A comment for those who watch all rooms. */
  comment: (text: string) => void;
  /** A connection of another hub, for its requests. */
  serve: (socket: Duplex) => void;
}

/** This hub's part in its cluster: which hubs there are, which rooms have their home here, and the way to the others. */
export class HubHomes implements FrontCluster {
  readonly self: HubIdentity;
  readonly hops: Hops;
  readonly roll: RollCall;
  readonly homes: RoomHomes;
  readonly rooms: ClusterRooms;
  readonly handOvers: HandOvers;
  readonly places: HubPlaces;
  readonly events: EventsElsewhere;
  readonly #options: ClusterOptions;
  readonly #parts: HomesParts;
  readonly #directory: ClusterDirectory;
  readonly #deliveries: Deliveries;
  readonly #others: OtherHubs;
  #linkUrl = "";
  #isOpen = false;

  constructor(options: ClusterOptions, parts: HomesParts) {
    const { directory, secret } = options;
    const { world, nowMs, bootId, log, registry } = parts;
    const reportBug = (error: unknown) => log.bug("the cluster's state", error);
    const computer = () => this.#computer();
    this.#options = options;
    this.#parts = parts;
    this.#directory = directory;
    this.self = { hubId: hubIdOf(world, options), bootId };
    const { self } = this;
    const deliveries = (this.#deliveries = new Deliveries(nowMs));
    const hops = (this.hops = new Hops({
      ...{ self, secret, world, serve: parts.serve, facts: encodeHopFacts(factsOfHub(self)) },
      targetOf: (hubId) => this.#targetOf(hubId),
      onRefused: (hubId) => this.homes.redialRefused(hubId),
      onOpen: (hubId) => {
        deliveries.hubReached(hubId);
        this.homes.hubReached(hubId);
      },
      onReset: (hubId) => {
        this.roll.hubs.reset(hubId);
        deliveries.hubReset(hubId);
      },
      onNote: (note) => this.#heard(note),
    }));
    const roll = (this.roll = new RollCall({
      ...{ self, directory, log, world, links: hops.control },
      startedAt: Math.round(world.wallMs()),
      facts: () => this.#facts(),
      hubGone: (hub) => hops.hubGone(hub),
    }));
    const homes = (this.homes = new RoomHomes({
      ...{ self, directory, nowMs, reportBug, roll, hooks: this.#hooks(), time: parts.source },
      exists: (code) => registry.hasCode(code),
      isInUse: (code) => (registry.findRoom(code)?.participants.size ?? 0) > 0,
      mayMove: (code) => this.handOvers.mayMove(code),
    }));
    const rooms = (this.rooms = new ClusterRooms({ parts, directory, homes, computer, reportBug }));
    const handOvers = { parts, homes, hops, roll, rooms, directory, computer };
    this.handOvers = new HandOvers(handOvers);
    this.places = new HubPlaces({
      ...{ parts, self, homes, hops, roll, deliveries, handOvers: this.handOvers },
    });
    this.#others = {
      ...{ world, answerMs, list: () => roll.hubs.list() },
      get: (hub, path, signal) => hops.ask(hub, path, signal),
    };
    this.events = new EventsElsewhere({
      ...{ others: this.#others, nowMs, comment: parts.comment },
      watch: () => this.#watchElsewhere(),
      relay: (event) => parts.bus().relay(event),
    });
  }

  /** Whether changes that need the other hubs can be made. */
  get isUp(): boolean {
    return this.#directory.isUp;
  }

  /** What other hubs pipe here: served by the same handlers, for clients that those hubs have judged. */
  frontOfHops(front: FrontDeps): FrontDeps {
    const { piped, pipedPeers: peers } = this.places;
    return { ...front, peers, places: piped, piped };
  }

  /** It is of another hub, which stops. */
  endsWithHub(connection: object): boolean {
    const peer = this.hops.peerOf(connection);
    if (peer === undefined) return false;
    const hub = this.roll.hubs.get(peer.hubId);
    return hub?.bootId !== peer.bootId || hub.isDraining;
  }

  /** Learns what the other hubs know. @throws DirectoryUnavailable, HubIdTaken */
  async open(): Promise<void> {
    const listener: DirectoryListener = {
      roomChanged: (code, room, revision) => this.rooms.changed(code, room, revision),
      homeChanged: (code, home, revision) => this.homes.homeChanged(code, home, revision),
      registrationsLost: () => this.rooms.registrations.lost(),
      hubSeen: (hubId, presence) => this.roll.seen(hubId, presence),
      stateChanged: (isUp) => this.#stateChanged(isUp),
    };
    await this.#directory.open(listener);
    await this.roll.claimId(this.#urls(""));
    this.#isOpen = true;
    this.rooms.opened();
  }

  /** Joins the cluster: from now on the others know this hub. */
  announce(url: string): void {
    const urls = this.#urls(url);
    this.#linkUrl = urls.linkUrl;
    this.roll.announce(urls);
  }

  /** Four times a second. */
  tick(): void {
    this.events.tick();
    const nowMs = this.#parts.nowMs();
    this.hops.tick();
    this.#deliveries.tick(nowMs);
    if (this.#directory.isUp) this.roll.judge(this.#directory.upSinceMs);
    this.homes.tick();
    this.handOvers.tick();
  }

  /** What is to be kept longer is written again. */
  eachMinute(): void {
    void this.rooms.registrations.renew();
  }

  /** The rooms whose homes are at other hubs. Never rejects. */
  roomsElsewhere(): Promise<RoomsElsewhere> {
    return roomsElsewhere(this.#others);
  }

  /**
   * This hub stops: its rooms go to others, and what waits in them after them. Resolves when they are gone or cannot be
   * given away, and nothing that ends by itself is piped any more.
   */
  async drained(): Promise<void> {
    this.roll.announceNow();
    await this.homes.stop();
    await this.places.emptied();
  }

  async close(): Promise<void> {
    this.handOvers.events.close();
    this.events.close();
    this.hops.close();
    await this.#directory.close();
  }

  /** What another hub says. */
  #heard([kind, subject, epoch]: HopNote): void {
    if (kind === "epoch") this.homes.sawEpoch(subject, epoch);
    else if (kind === "event") this.handOvers.events.arrived(subject as RoomEvent);
    else if (kind === "ended" || kind === "stalled") this.handOvers.events.ended(subject);
    else this.#deliveries.end(subject, kind);
    if (kind === "gone") this.handOvers.events.left(subject);
    if (kind === "stalled") this.places.stalled(subject);
  }

  /** @param url - where it listens */
  #urls(url: string): HubUrls {
    const { advertiseUrl = url, linkUrl = advertiseUrl } = this.#options;
    const pinned = (at: string) => (pinText(at) === undefined ? withPin(at, this.#parts.pin) : at);
    return { advertiseUrl: pinned(advertiseUrl), linkUrl: pinned(linkUrl) };
  }

  /** Streams to other hubs are open only while someone here would miss something without. */
  #watchElsewhere(): HubWideWatch {
    const bus = this.#parts.bus();
    if (bus.hubWideWatch !== "none") return bus.hubWideWatch;
    const isElsewhere = (code: string) => this.homes.isLeaving(code);
    return bus.listenedRooms().some(isElsewhere) ? "events" : "none";
  }

  #targetOf(hubId: string): HopTarget | undefined {
    if (hubId !== this.self.hubId) return this.roll.hubs.get(hubId);
    return { ...this.self, linkUrl: this.#linkUrl };
  }

  #stateChanged(isUp: boolean): void {
    this.homes.directoryChanged(isUp);
    if (isUp) void this.rooms.registrations.retry();
    const { log } = this.#parts;
    if (!this.#isOpen) return;
    const gone =
      "the cluster cannot be reached: rooms that are in use go on, new rooms are refused, and no room of a hub that ends is taken over";
    log.warn(isUp ? "the cluster can be reached again" : gone);
  }

  #hooks(): HomeHooks {
    return {
      onTaken: async (code, _home, offer) => {
        if (offer instanceof GivenRoom) this.handOvers.takePlace(code, offer);
        else await this.rooms.restore(code);
      },
      onLost: (code) => this.#lost(code),
      onServe: (code) => this.handOvers.stays(code),
      offer: (code, to, offer) => this.handOvers.offer(code, to, offer),
      tell: (hubId, code, epoch) => this.hops.control.say(hubId, "epoch", code, epoch),
    };
  }

  /** Another hub is: its clients, watchers and agents go there. */
  #lost(code: string): void {
    this.rooms.registrations.release(code);
    this.handOvers.left(code);
    void storeSpent(this.#parts.operations());
    releaseParticipants(this.#parts.operations(), code);
    this.#parts.bus().leaveRoom(code, watchAgainMs);
  }

  /** What this hub says of itself. */
  #facts() {
    const { version, registry, isDraining } = this.#parts;
    return { version, participants: registry.participantCount, isDraining: isDraining() };
  }

  /** By which others know the computer of this hub: hubs that are reached at a loopback address have the same. */
  #computer(): string {
    const { hostname = "" } = URL.parse(this.#linkUrl) ?? {};
    return isLoopbackHost(hostname) ? "localhost" : this.self.hubId;
  }
}
