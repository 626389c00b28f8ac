import type { Limits } from "@roomhub/protocol";
import type { Duplex } from "node:stream";
import { systemTime } from "./clock.ts";
import type { RoomPassword } from "./credentials/passwords.ts";
import type { ClusterDirectory, DirectoryListener } from "./cluster/directory.ts";
import type { AuthHeaderVault } from "./credentials/vault.ts";
import { RegistrationWriter } from "./cluster/homes/registration-writer.ts";
import { DirectoryUnavailable } from "./cluster/directory.ts";
import { RoomHomes } from "./cluster/homes/room-homes.ts";
import { hubIdOf } from "./cluster/hubs/hub-address.ts";
import { RollCall } from "./cluster/hubs/roll-call.ts";
import { SharedRooms } from "./cluster/shared-rooms.ts";
import { isLoopbackHost } from "./domain/machine.ts";
import type { HubIdentity } from "./domain/participant.ts";
import { storedRegistrationOf } from "./domain/stored-registration.ts";
import { HubError } from "./errors.ts";
import type { EventBus } from "./events/bus.ts";
import { HopAcceptor } from "./hop/accept.ts";
import { ControlSockets } from "./hop/control.ts";
import { HopDialler, type HopTarget } from "./hop/dial.ts";
import { Hops } from "./hop/hops.ts";
import type { FrontCluster, FrontDeps } from "./http/front-deps.ts";
import { createPipedPeerReader } from "./http/hops/hop-facts.ts";
import { hostTokenFrom, tokenFrom } from "./credentials/tokens.ts";
import { Deliveries } from "./http/hops/deliveries.ts";
import { announceLost, type LostRequest } from "./operations/homes/lost-requests.ts";
import { EntryPlaces } from "./http/hops/entry-places.ts";
import { HomePlaces } from "./http/hops/home-places.ts";
import type { PeerReader } from "./http/peer.ts";
import type { Log } from "./log.ts";
import type { OperationContext, RoomHome } from "./operations/context.ts";
import {
  releaseParticipants,
  restoreParticipants,
} from "./operations/homes/restore-participants.ts";
import { forgetSharedRoom, takeSharedRoom } from "./operations/cluster/shared-rooms.ts";
import type { ClusterOptions } from "./options.ts";
import { storedRoomOf } from "./storage/stored-room.ts";
import type { StoredRoom } from "./storage/room-store.ts";

/** Those who watch a room go to its next home soon. */
const watchAgainMs = 200;

/** What this hub's part in a cluster needs of the hub. */
export interface HomesParts {
  bootId: string;
  version: string;
  operations: () => OperationContext;
  bus: () => EventBus;
  vault: AuthHeaderVault;
  roomPasswords: Map<string, RoomPassword>;
  limits: Limits;
  log: Log;
  nowMs: () => number;
  wallMs: () => number;
  isDraining: () => boolean;
  /** @throws HubError `hub_overloaded` */
  refuseAtLimit: (underWay: number) => void;
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
  readonly piped: HomePlaces;
  readonly registrations: RegistrationWriter;
  readonly #options: ClusterOptions;
  readonly #parts: HomesParts;
  readonly #directory: ClusterDirectory;
  readonly #sharedRooms: SharedRooms;
  readonly #control: ControlSockets;
  readonly #acceptor: HopAcceptor;
  /** which hub a connection comes from */
  readonly #peers = new WeakMap<object, HubIdentity>();
  #linkUrl = "";
  #isOpen = false;

  constructor(options: ClusterOptions, parts: HomesParts) {
    const { directory, secret } = options;
    const { nowMs, wallMs, bootId, log } = parts;
    const reportBug = (error: unknown) => log.bug("the cluster's state", error);
    this.#options = options;
    this.#parts = parts;
    this.#directory = directory;
    this.self = { hubId: options.hubId ?? hubIdOf(options), bootId };
    const { self } = this;
    const dialler = new HopDialler({ self, secret, wallMs });
    this.deliveries = new Deliveries(nowMs);
    this.#control = new ControlSockets({
      ...{ self, dialler, nowMs },
      onOpen: (hubId) => this.homes.hubReached(hubId),
      onReset: (hubId) => {
        this.homes.hubReset(hubId);
        this.deliveries.hubReset(hubId);
      },
      onRefused: (hubId) => this.homes.redialRefused(hubId),
      onNotes: (_hubId, { delivered, gone, lost, epochs }) => {
        if (delivered !== undefined) this.deliveries.delivered(delivered);
        if (gone !== undefined) this.deliveries.gone(gone);
        for (const one of lost ?? []) {
          const { code, ...request } = one as LostRequest & { code: string };
          announceLost(parts.operations(), code, request);
        }
        for (const [code, epoch] of Object.entries(epochs ?? {})) this.homes.sawEpoch(code, epoch);
      },
    });
    this.hops = new Hops({
      dialler,
      targetOf: (hubId) => this.#targetOf(hubId),
      onRefused: (hubId) => this.homes.redialRefused(hubId),
    });
    this.#acceptor = new HopAcceptor({
      ...{ self, secret, wallMs },
      onSocket: (socket, kind, peer) => {
        if (kind === "control") return this.#control.accept(socket, peer);
        this.#peers.set(socket, peer);
        parts.serve(socket);
      },
    });
    this.roll = new RollCall({
      self,
      startedAt: Math.round(wallMs()),
      announce: (presence) => directory.announce(presence),
      facts: () => ({
        version: parts.version,
        participants: parts.operations().registry.participantCount,
        wantsDetail: false,
        isDraining: parts.isDraining(),
      }),
      links: {
        isOpen: (hubId) => this.#control.isOpen(hubId),
        problemOf: (hubId) => this.#control.problemOf(hubId),
        hubPresent: ({ hubId }) => {
          const presence = this.roll.hubs.get(hubId);
          if (presence !== undefined) this.#control.hubPresent(presence);
        },
        hubLeft: (hubId) => this.#control.hubLeft(hubId),
        hubGone: (hubId) => this.#control.hubGone(hubId),
        refusedForMs: (hubId) => this.homes.refusedForMs(hubId),
      },
      detailWatchedElsewhere: () => undefined,
      ...{ log, nowMs },
    });
    this.homes = new RoomHomes({
      ...{ self, directory, nowMs, reportBug, roll: this.roll },
      exists: (code) => parts.operations().registry.hasCode(code),
      isInUse: (code) => (parts.operations().registry.findRoom(code)?.participants.size ?? 0) > 0,
      time: { monotonicMs: () => systemTime.monotonicMs(), wallMs },
      hooks: {
        onTaken: (code) => this.#taken(code),
        onLost: (code) => this.#lost(code),
        offer: async () => false,
        tell: (hubId, code, epoch) => this.#control.epoch(hubId, code, epoch),
      },
    });
    this.piped = new HomePlaces({
      peerOf: (socket) => this.#peers.get(socket),
      deliveries: this.deliveries,
      homes: this.homes,
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
      keep: (room) => reachable(() => this.#sharedRooms.keep(room)),
      drop: ({ code }) => {
        this.homes.dropped(code);
        void this.#sharedRooms.drop(code);
      },
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

  /** Which other hub a connection comes from, unless that runs on this computer. */
  #strangerOf(socket: object): string | undefined {
    const hubId = this.#peers.get(socket)?.hubId;
    if (hubId === undefined || this.roll.hubs.isOnThisComputer(hubId)) return undefined;
    return hubId;
  }

  /** Where requests of this hub's own clients go. */
  entry(peers: PeerReader): EntryPlaces {
    return new EntryPlaces({
      homes: this.homes,
      pipes: {
        open: (request, response) => this.hops.open(request, response),
        pipeUpgrade: (arriving, home, facts) => this.hops.pipeUpgrade(arriving, home, facts),
        tell: (hubId, requestId, outcome) => this.#control[outcome](hubId, requestId),
      },
      peers,
      self: this.self,
      nowMs: this.#parts.nowMs,
      hubOfSession: (session) => this.#hubOfSession(session),
      lost: (code, lost) => void this.#tellLost(code, lost),
      isDraining: this.#parts.isDraining,
      refuseAtLimit: this.#parts.refuseAtLimit,
    });
  }

  /** What other hubs pipe here: served by the same handlers, for clients that those hubs have judged. */
  frontOfHops(front: FrontDeps): FrontDeps {
    const { piped } = this;
    const peers = createPipedPeerReader({
      ...{ tokenFrom, hostTokenFrom },
      factsOf: (request) => piped.factsOf(request),
      strangerOf: ({ socket }) => this.#strangerOf(socket),
    });
    return { ...front, peers, places: piped, piped };
  }

  /** Learns what the other hubs know. @throws DirectoryUnavailable */
  async open(): Promise<void> {
    const listener: DirectoryListener = {
      roomChanged: (code, room, revision) => this.#sharedRooms.changed(code, room, revision),
      participantChanged: () => undefined,
      homeChanged: (code, home, revision) => this.homes.homeChanged(code, home, revision),
      registrationsLost: () => this.registrations.lost(),
      hubSeen: (hubId, presence) => this.roll.seen(hubId, presence),
      stateChanged: (isUp) => this.#stateChanged(isUp),
    };
    await this.#directory.open(listener);
    this.#isOpen = true;
  }

  /** Joins the cluster: from now on the others know this hub. */
  announce(url: string): void {
    const { advertiseUrl = url } = this.#options;
    const { linkUrl = advertiseUrl } = this.#options;
    this.#linkUrl = linkUrl;
    this.roll.announce({ advertiseUrl, linkUrl });
  }

  /** Four times a second. */
  tick(): void {
    const nowMs = this.#parts.nowMs();
    this.roll.tellNamesakes();
    this.#control.tick();
    this.deliveries.tick(nowMs);
    if (this.#directory.isUp) this.roll.judge(this.#directory.upSinceMs);
    this.homes.tick();
  }

  /** What is to be kept longer is written again. */
  eachMinute(): void {
    void this.registrations.renew();
  }

  /** Writes when rooms were used last. */
  noteUse(): void {
    const { operations, wallMs } = this.#parts;
    // To the other hubs a room looks empty whose participants are here.
    for (const room of operations().registry.rooms())
      if (room.participants.size > 0) room.lastUsedAt = wallMs();
    void this.#sharedRooms.noteUse(this.#parts.operations().registry.rooms());
  }

  /** What the front needs of it. */
  front(): FrontCluster {
    return {
      relay: undefined,
      catchUpRoom: async (code) => {
        await reachable(() => this.#sharedRooms.catchUp(code));
      },
      accept: (request, socket, head) => this.#acceptor.accept(request, socket, head),
      requestsElsewhere: async () => [],
      listHubs: () => this.roll.list(),
      advertisedUrls: () => this.roll.advertisedUrls(),
      advertiseUrl: () => this.roll.ownUrl,
    };
  }

  async close(): Promise<void> {
    await this.homes.stop();
    this.#control.close();
    this.hops.close();
    await this.#directory.close();
  }

  /** A session's name begins with the id of its hub. */
  #hubOfSession(session: string | undefined): HubIdentity | undefined {
    if (session === undefined) return undefined;
    return this.roll.hubs.list().find(({ hubId }) => session.startsWith(`${hubId}-`));
  }

  /** Its home ended while it served a request: the next one tells those who watch the room. */
  async #tellLost(code: string, lost: LostRequest): Promise<void> {
    const place = await this.homes.placed(code).catch(() => undefined);
    if (place?.kind === "there") this.#control.lost(place.home.hubId, { ...lost, code });
    if (place?.kind === "here") announceLost(this.#parts.operations(), code, lost);
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
  async #taken(code: string): Promise<void> {
    const operations = this.#parts.operations();
    const registrations = await this.#directory.readRegistrations(code);
    if (operations.registry.findRoom(code) === undefined) return;
    restoreParticipants(operations, code, registrations, this.computer);
  }

  /** Another hub is: its clients, watchers and agents go there. */
  #lost(code: string): void {
    this.registrations.release(code);
    releaseParticipants(this.#parts.operations(), code);
    this.#parts.bus().endRoom(code, watchAgainMs);
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

/** @throws HubError `cluster_unavailable` */
async function reachable<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof DirectoryUnavailable)) throw error;
    throw new HubError("cluster_unavailable", "This hub cannot reach its cluster at the moment.", {
      hint: "What is in use goes on. Try again in some seconds.",
      cause: error,
    });
  }
}
