import { isLoopbackHost, type Limits, timeoutSignal, type World } from "@roomhub/protocol";
import type { Duplex } from "node:stream";
import type { RoomPassword } from "./credentials/passwords.ts";
import type { ClusterDirectory, DirectoryListener } from "./cluster/directory.ts";
import type { AuthHeaderVault } from "./credentials/vault.ts";
import { RegistrationWriter } from "./cluster/homes/registration-writer.ts";
import { RoomHomes } from "./cluster/homes/room-homes.ts";
import { hubIdOf, type HubUrls } from "./cluster/hubs/hub-presence.ts";
import { RollCall } from "./cluster/hubs/roll-call.ts";
import { SharedRooms } from "./cluster/shared-rooms.ts";
import type { HubIdentity } from "./domain/hub-identity.ts";
import { storedRegistrationOf } from "./domain/stored-registration.ts";
import { HopAcceptor } from "./hop/accept.ts";
import { ControlSockets, type HopNote } from "./hop/control.ts";
import { HopDialler, type HopTarget } from "./hop/dial.ts";
import { Hops } from "./hop/hops.ts";
import type { FrontCluster, FrontDeps } from "./http/front-deps.ts";
import { encodeHopFacts, factsOfHub } from "./http/hops/hop-facts.ts";
import type { FlushingResponses } from "./http/flushing-responses.ts";
import { EventsElsewhere } from "./http/hops/events-elsewhere.ts";
import { type OtherHubs, roomsElsewhere } from "./http/hops/rooms-elsewhere.ts";
import { Deliveries } from "./http/hops/deliveries.ts";
import type { HubWideWatch } from "./events/bus.ts";
import type { RoomEvent } from "./events/emit.ts";
import { HubPlaces } from "./hub-places.ts";
import { HandOvers, type HandOverParts } from "./hub-hand-overs.ts";
import type { RoomHome } from "./operations/context.ts";
import {
  releaseParticipants,
  restoreParticipants,
} from "./operations/homes/restore-participants.ts";
import { forgetSharedRoom, takeSharedRoom } from "./operations/rooms.ts";
import type { ClusterOptions } from "./options.ts";
import { storedRoomOf, type StoredRoom } from "./storage/room-store.ts";

/** Those who watch a room go to its next home soon. */
const watchAgainMs = 200;

/** A hub that takes no room in this time gets none. */
const sendMs = 5_000;

/** Lists name a hub that takes longer. Contract §8. */
const answerMs = 1_000;

/** What this hub's part in a cluster needs of the hub. */
export interface HomesParts extends HandOverParts {
  bootId: string;
  version: string;
  vault: AuthHeaderVault;
  roomPasswords: Map<string, RoomPassword>;
  limits: Limits;
  /** with the hub's own time, see {@link createClock} */
  world: World;
  /** with the machine's */
  source: World;
  flushing: FlushingResponses;
  wallMs: () => number;
  isDraining: () => boolean;
  /** @throws HubError `hub_overloaded` */
  refuseAtLimit: (underWay: number) => void;
  /** A comment for those who watch all rooms. */
  comment: (text: string) => void;
  /** A connection of another hub, for its requests. */
  serve: (socket: Duplex) => void;
}

/** This hub's part in its cluster: which hubs there are, which rooms have their home here, and the way to the others. */
export class HubHomes {
  readonly self: HubIdentity;
  readonly rooms: RoomHome;
  readonly roll: RollCall;
  readonly homes: RoomHomes;
  readonly hops: Hops;
  readonly deliveries: Deliveries;
  readonly places: HubPlaces;
  readonly registrations: RegistrationWriter;
  readonly handOvers: HandOvers;
  readonly #options: ClusterOptions;
  readonly #parts: HomesParts;
  readonly #directory: ClusterDirectory;
  readonly #sharedRooms: SharedRooms;
  readonly #control: ControlSockets;
  readonly #acceptor: HopAcceptor;
  readonly #others: OtherHubs;
  readonly events: EventsElsewhere;
  #linkUrl = "";
  #isOpen = false;

  constructor(options: ClusterOptions, parts: HomesParts) {
    const { directory, secret } = options;
    const { world, nowMs, wallMs, bootId, log } = parts;
    const reportBug = (error: unknown) => log.bug("the cluster's state", error);
    this.#options = options;
    this.#parts = parts;
    this.#directory = directory;
    this.self = { hubId: hubIdOf(world, options), bootId };
    const { self } = this;
    const dialler = new HopDialler({
      ...{ self, secret, world },
      onRefused: (hubId) => {
        if (!this.#control.isOpen(hubId)) this.homes.redialRefused(hubId);
      },
    });
    this.deliveries = new Deliveries(nowMs);
    this.#control = new ControlSockets({
      ...{ self, dialler, world },
      onOpen: (hubId) => this.homes.hubReached(hubId),
      onReset: (hubId) => {
        this.roll.hubs.reset(hubId);
        this.deliveries.hubReset(hubId);
      },
      onNote: (note) => this.#heard(note),
    });
    this.hops = new Hops({
      ...{ world, dialler },
      targetOf: (hubId) => this.#targetOf(hubId),
    });
    const facts = encodeHopFacts(factsOfHub(self));
    this.#others = {
      ...{ world, answerMs },
      list: () => this.roll.hubs.list(),
      get: (hub, path, signal) => this.hops.ask(hub, path, facts, signal),
    };
    this.events = new EventsElsewhere({
      ...{ others: this.#others, nowMs, comment: parts.comment },
      watch: () => this.#watchElsewhere(),
      relay: (event) => parts.bus().relay(event),
    });
    this.#acceptor = new HopAcceptor({
      ...{ self, secret, wallMs },
      onSocket: (socket, kind, peer) => {
        if (kind === "control") return this.#control.accept(socket, peer);
        this.hops.accepted(socket, peer);
        parts.serve(socket);
      },
    });
    this.roll = new RollCall({
      self,
      startedAt: Math.round(wallMs()),
      directory,
      facts: () => ({
        version: parts.version,
        participants: parts.operations().registry.participantCount,
        isDraining: parts.isDraining(),
      }),
      links: {
        isOpen: (hubId) => this.#control.isOpen(hubId),
        problemOf: (hubId) => this.#control.problemOf(hubId),
        hubPresent: (presence) => this.#control.hubPresent(presence),
        hubLeft: (hubId) => this.#control.hubLeft(hubId),
        hubGone: (hub) => {
          this.#control.hubGone(hub);
          this.hops.hubGone(hub);
        },
      },
      ...{ log, world },
    });
    this.homes = new RoomHomes({
      ...{ self, directory, nowMs, reportBug, roll: this.roll },
      exists: (code) => parts.operations().registry.hasCode(code),
      isInUse: (code) => (parts.operations().registry.findRoom(code)?.participants.size ?? 0) > 0,
      mayMove: (code) => this.handOvers.mayMove(code),
      time: parts.source,
      hooks: {
        onTaken: (code, _home, fromOffer) => this.#taken(code, fromOffer),
        onLost: (code) => this.#lost(code),
        onServe: (code) => this.handOvers.stays(code),
        offer: (code, to, offer) => this.handOvers.offer(code, to, offer),
        tell: (hubId, code, epoch) => this.#control.say(hubId, "epoch", code, epoch),
      },
    });
    this.handOvers = new HandOvers({
      ...{ homes: this.homes, parts, computer: () => this.computer },
      send: (hub, path, message) =>
        this.hops.ask(hub, path, facts, timeoutSignal(world, sendMs), message),
      sendEvent: (hubId, event) => {
        const isOpen = this.#control.isOpen(hubId);
        if (isOpen) this.#control.say(hubId, "event", event);
        return isOpen;
      },
      isOpen: (hubId) => this.#control.isOpen(hubId),
      isUp: () => directory.isUp,
      isGone: (hub) => !this.roll.hubs.isPresent(hub),
      catchUp: (code) => this.#sharedRooms.catchUp(code),
    });
    this.places = new HubPlaces({
      ...{ self, homes: this.homes, hops: this.hops, control: this.#control },
      ...{ deliveries: this.deliveries, flushing: parts.flushing },
      ...{ nowMs, isDraining: parts.isDraining },
      refuseAtLimit: parts.refuseAtLimit,
      isNear: (hubId) => this.roll.hubs.isOnThisComputer(hubId),
      begins: (requestId, hubId) => this.handOvers.events.piped(requestId, hubId),
      takeOffer: (code, from, snapshot) => this.handOvers.takeOffer(code, from, snapshot),
      hubOfSession: (session) => this.#hubOfSession(session),
      urlOf: (hubId) => this.roll.hubs.get(hubId)?.advertiseUrl,
      lost: (end, from) => {
        const timestamp = new Date(wallMs()).toISOString();
        this.handOvers.events.lost({ name: "llm.error", timestamp, ...end }, from);
      },
    });
    this.registrations = new RegistrationWriter({
      directory,
      find: (code, id) => parts.operations().registry.findRoom(code)?.participants.get(id),
      participants: () => parts.operations().registry.participants(),
      encode: (participant) =>
        storedRegistrationOf(participant, {
          hasAuthHeaders: parts.vault.has(participant.key),
          computer: this.computer,
          storedAt: Math.round(wallMs()),
        }),
      isElsewhere: (code) => this.homes.placeOf(code).kind === "there",
      isLeaving: (code) => this.homes.isLeaving(code),
      confirm: (code) => this.homes.confirm(code),
      wallMs,
      reportBug,
    });
    this.#sharedRooms = new SharedRooms({
      directory,
      stored: (room) => {
        const digest = parts.roomPasswords.get(room.code)?.stored;
        if (room.isPasswordProtected && digest === undefined) return undefined;
        return storedRoomOf(room, digest);
      },
      apply: (code, room) => this.#applyRoom(code, room),
      reportBug,
    });
    this.rooms = {
      keep: (room) => this.#sharedRooms.keep(room),
      drop: ({ code }) => {
        this.homes.dropped(code);
        void this.#sharedRooms.drop(code);
      },
      isOurs: (code) => this.homes.isOurs(code),
    };
  }

  /** Whether changes that need the other hubs can be made. */
  get isUp(): boolean {
    return this.#directory.isUp;
  }

  /** By which others know the computer of this hub: hubs that are reached at a loopback address have the same. */
  get computer(): string {
    const { hostname = "" } = URL.parse(this.#linkUrl) ?? {};
    return isLoopbackHost(hostname) ? "localhost" : this.self.hubId;
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
      roomChanged: (code, room, revision) => this.#sharedRooms.changed(code, room, revision),
      homeChanged: (code, home, revision) => this.homes.homeChanged(code, home, revision),
      registrationsLost: () => this.registrations.lost(),
      hubSeen: (hubId, presence) => this.roll.seen(hubId, presence),
      stateChanged: (isUp) => this.#stateChanged(isUp),
    };
    await this.#directory.open(listener);
    await this.roll.claimId(this.#urls(""));
    this.#isOpen = true;
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
    this.#control.tick();
    this.hops.tick();
    this.deliveries.tick(nowMs);
    if (this.#directory.isUp) this.roll.judge(this.#directory.upSinceMs);
    this.homes.tick();
    this.handOvers.tick();
  }

  /** What is to be kept longer is written again. */
  eachMinute(): void {
    void this.registrations.renew();
  }

  /** Writes when rooms were used last. */
  noteUse(): void {
    const { registry } = this.#parts.operations();
    // To the other hubs a room looks empty whose participants are here.
    for (const room of registry.rooms())
      if (room.participants.size > 0) room.lastUsedAt = this.#parts.wallMs();
    void this.#sharedRooms.noteUse(registry.rooms());
  }

  /** What the front needs of it. */
  front(): FrontCluster {
    return {
      catchUpRoom: (code) => this.#sharedRooms.catchUp(code),
      homeEpoch: (code) => this.homes.epochHere(code),
      sawEpoch: (code, epoch) => this.homes.sawEpoch(code, epoch),
      accept: (request, socket, head) => this.#acceptor.accept(request, socket, head),
      roomsElsewhere: () => roomsElsewhere(this.#others),
      listHubs: () => this.roll.list(),
      advertisedUrls: () => this.roll.advertisedUrls(),
      advertiseUrl: () => this.roll.ownUrl,
    };
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
    this.#control.close();
    this.hops.close();
    await this.#directory.close();
  }

  /** What another hub says. */
  #heard([kind, subject, epoch]: HopNote): void {
    if (kind === "epoch") this.homes.sawEpoch(subject, epoch);
    else if (kind === "event") this.handOvers.events.arrived(subject as RoomEvent);
    else this.deliveries.end(subject, kind);
    if (kind === "gone") this.handOvers.events.left(subject);
  }

  /** @param url - where it listens */
  #urls(url: string): HubUrls {
    const { advertiseUrl = url, linkUrl = advertiseUrl } = this.#options;
    return { advertiseUrl, linkUrl };
  }

  /** A session's name begins with the id of its hub. */
  #hubOfSession(session: string | undefined): HubIdentity | undefined {
    if (session === undefined) return undefined;
    return this.roll.hubs.list().find(({ hubId }) => session.startsWith(`${hubId}-`));
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
    if (isUp) void this.registrations.retry();
    const { log } = this.#parts;
    if (!this.#isOpen) return;
    const gone =
      "the cluster cannot be reached: rooms that are in use go on, new rooms are refused, and no room of a hub that ends is taken over";
    log.warn(isUp ? "the cluster can be reached again" : gone);
  }

  /** This hub is the home of a room now: who registered at the one before is back soon. */
  async #taken(code: string, fromOffer: boolean): Promise<void> {
    const operations = this.#parts.operations();
    if (fromOffer && this.handOvers.takePlace(code)) return;
    const registrations = await this.#directory.readRegistrations(code);
    if (operations.registry.findRoom(code) === undefined) return;
    restoreParticipants(operations, code, registrations, this.computer);
  }

  /** Another hub is: its clients, watchers and agents go there. */
  #lost(code: string): void {
    this.registrations.release(code);
    this.handOvers.left(code);
    releaseParticipants(this.#parts.operations(), code);
    this.#parts.bus().leaveRoom(code, watchAgainMs);
  }

  #applyRoom(code: string, stored: StoredRoom | undefined): void {
    const operations = this.#parts.operations();
    if (stored === undefined) {
      this.homes.dropped(code);
      forgetSharedRoom(operations, code);
      return;
    }
    // Of rooms that were there before this hub, the event is in another life.
    takeSharedRoom(operations, stored, this.#isOpen && !this.#parts.bus().hasCreated(code));
  }
}
