import type { Limits, RequestSummary } from "@roomhub/protocol";
import type { RoomPassword } from "./credentials/passwords.ts";
import type { AuthHeaderVault } from "./credentials/vault.ts";
import type { ShownEvent } from "./cluster/bus/bus-message.ts";
import type { ClusterDirectory, DirectoryListener } from "./cluster/directory.ts";
import { EventBridge, isDetail, type ShownEntry } from "./cluster/bus/event-bridge.ts";
import { RoomWatches } from "./cluster/bus/room-watches.ts";
import { hubIdOf } from "./cluster/hubs/hub-address.ts";
import { Membership, reachable } from "./cluster/membership.ts";
import { Orphans } from "./cluster/orphans.ts";
import { OwnEntries } from "./cluster/own-entries.ts";
import { encodeParticipant, type ParticipantEntry } from "./cluster/participant-entry.ts";
import { Replica } from "./cluster/replica.ts";
import { RollCall } from "./cluster/hubs/roll-call.ts";
import { SharedRooms } from "./cluster/shared-rooms.ts";
import type { HubIdentity, Participant } from "./domain/participant.ts";
import { sharedMachine } from "./domain/views.ts";
import type { EventBus } from "./events/bus.ts";
import type { ShareEvent } from "./events/emit.ts";
import type { FrontCluster } from "./http/front-deps.ts";
import { OwnerRelay } from "./http/owner-relay.ts";
import { withinMs } from "./within.ts";
import { HubLinks, type HubLinksOptions } from "./hub-links.ts";
import type { Log } from "./log.ts";
import {
  adoptParticipant,
  announceOrphan,
  disownParticipant,
} from "./operations/cluster/cluster-changes.ts";
import { handOverParticipants, settleArrivals } from "./operations/cluster/handover.ts";
import { forgetSharedRoom, takeSharedRoom } from "./operations/cluster/shared-rooms.ts";
import { clusterMachineKey } from "./operations/machine-key.ts";
import type { OperationContext, RoomHome } from "./operations/context.ts";
import type { ClusterOptions } from "./options.ts";
import { storedRoomOf } from "./storage/stored-room.ts";
import type { StoredRoom } from "./storage/room-store.ts";
import type { LinkResponse } from "./upstreams/node/ask.ts";
import type { TunnelRegistry } from "./upstreams/tunnel/registry.ts";

/** An agent that is sent away joins elsewhere at once, where a busy hub may take a while. */
const handOverMs = 5_000;

/** What this hub's part in a cluster needs of the hub. */
export interface ClusterParts {
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
  random: () => number;
  isDraining: () => boolean;
  wantsDetail: () => boolean;
  /** Serves a management request that another hub relays. */
  manage: (question: unknown) => Promise<LinkResponse>;
  /** The requests of a room that have their clients here. */
  requestsHere: (roomCode: string) => readonly RequestSummary[];
  forwarding: HubLinksOptions["forwarding"];
  makers: HubLinksOptions["makers"];
}

/** This hub's part in its cluster: the directory and its replica, the bus, the links. */
export class HubCluster {
  readonly self: HubIdentity;
  readonly membership: Membership;
  readonly share: ShareEvent;
  readonly watches: RoomWatches;
  readonly roll: RollCall;
  readonly links: HubLinks;
  readonly rooms: RoomHome;
  readonly #directory: ClusterDirectory;
  readonly #options: ClusterOptions;
  readonly #parts: ClusterParts;
  readonly #own: OwnEntries;
  readonly #replica: Replica;
  readonly #bridge: EventBridge;
  readonly #orphans: Orphans;
  readonly #sharedRooms: SharedRooms;
  #isOpen = false;

  constructor(options: ClusterOptions, parts: ClusterParts) {
    const { directory } = options;
    const { nowMs, wallMs, bootId, log, random } = parts;
    const reportBug = (error: unknown) => log.bug("the cluster's state", error);
    this.#options = options;
    this.#parts = parts;
    this.#directory = directory;
    this.self = { hubId: options.hubId ?? hubIdOf(options), bootId };
    const entryOf = (participant: Participant) => this.#entryOf(participant);
    this.#own = new OwnEntries({
      directory,
      encode: entryOf,
      lost: (participant, entry, revision) => this.#replica.disown(participant, entry, revision),
      reportBug,
    });
    const registry = () => parts.operations().registry;
    this.#replica = new Replica({
      self: this.self,
      registry,
      own: this.#own,
      clocks: { nowMs, wallMs },
      disowned: (participant) => disownParticipant(parts.operations(), participant),
      atMachine: (participant, key) => parts.operations().machines.assignRemote(participant, key),
      changed: (roomCode) => {
        parts.operations().routingChanged(roomCode);
        this.#bridge.release(roomCode);
      },
      learned: (participant, change) => this.#bridge.learned(participant, change),
    });
    this.#bridge = new EventBridge({
      bootId,
      directory,
      ...{ nowMs, wallMs },
      isWatchedElsewhere: (roomCode) => this.links.watchedElsewhere.isWatched(roomCode),
      revisionOf: (roomCode, id) => this.#replica.revisionOf(roomCode, id),
      show: (roomCode, message) => this.#show(roomCode, message),
      skip: (roomCode, count) => parts.bus().skip(roomCode, count),
    });
    this.#orphans = new Orphans({
      directory,
      replica: this.#replica,
      participants: () => registry().participants(),
      isDead: (hub) => this.roll.isDead(hub),
      entryOf,
      offlineAfterMs: parts.limits.offlineAfterMs,
      expireAfterMs: parts.limits.participantExpiryMs,
      nowMs,
      random,
      announce: (participant, what) => announceOrphan(parts.operations(), participant, what),
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
      drop: ({ code }) => void this.#sharedRooms.drop(code),
    };
    this.membership = new Membership({
      self: this.self,
      directory,
      own: this.#own,
      replica: this.#replica,
      entryOf,
      wallMs,
      askSecrets: (owner, participant) => this.links.askSecrets(owner, participant),
      adopted: (participant, secrets) => adoptParticipant(parts.operations(), participant, secrets),
    });
    this.links = new HubLinks({
      own: { ...this.self, version: parts.version },
      secret: options.secret,
      random,
      operations: parts.operations,
      manage: parts.manage,
      ...{ forwarding: parts.forwarding, makers: parts.makers, nowMs },
      requestsHere: parts.requestsHere,
      reportBug,
    });
    this.share = (roomCode, name, timestamp, payload) =>
      this.#bridge.publish(roomCode, name, timestamp, payload, () =>
        this.#shownEntry(roomCode, payload),
      );
    this.roll = new RollCall({
      self: this.self,
      startedAt: Math.round(wallMs()),
      announce: (presence) => directory.announce(presence),
      facts: () => ({
        version: parts.version,
        participants: this.#own.size,
        wantsDetail: parts.wantsDetail(),
        watchRevision: this.links.ownWatches.revision,
        isDraining: parts.isDraining(),
      }),
      links: this.links,
      detailWatchedElsewhere: (isWatched) => {
        parts.bus().isDetailWatchedElsewhere = isWatched;
      },
      ...{ log, nowMs },
    });
    this.watches = new RoomWatches({
      bridge: this.#bridge,
      ownWatches: this.links.ownWatches,
      heard: () => Promise.allSettled([directory.subscribed(), this.links.heard()]),
      detailWatched: () => this.roll.detailWatched(),
    });
  }

  /** Whether changes that need the other hubs can be made. */
  get isUp(): boolean {
    return this.#directory.isUp;
  }

  /** Learns what the other hubs know. @throws DirectoryUnavailable */
  async open(): Promise<void> {
    const listener: DirectoryListener = {
      roomChanged: (code, room, revision) => this.#sharedRooms.changed(code, room, revision),
      participantChanged: (roomCode, id, entry, revision) =>
        this.#replica.participantChanged(roomCode, id, entry, revision),
      homeChanged: () => undefined,
      registrationsLost: () => undefined,
      hubSeen: (hubId, presence) => this.roll.seen(hubId, presence),
      stateChanged: (isUp) => this.#stateChanged(isUp),
    };
    await this.#directory.open(listener);
    this.#isOpen = true;
  }

  /** Joins the cluster: from now on the others know this hub. @param ownPort - of a worker, on 127.0.0.1 */
  announce(url: string, ownPort: number | undefined): void {
    const ownUrl = ownPort === undefined ? undefined : `http://127.0.0.1:${ownPort}`;
    // A worker's port is not its own: it is called as its clients call it.
    const { advertiseUrl = ownUrl === undefined ? url : "" } = this.#options;
    const { linkUrl = ownUrl ?? advertiseUrl } = this.#options;
    this.roll.announce({ advertiseUrl, linkUrl });
  }

  /** Four times a second. */
  tick(): void {
    this.#bridge.tick();
    settleArrivals(this.#parts.operations());
    this.roll.tellNamesakes();
    this.links.tick(this.#parts.nowMs());
    this.links.ownWatches.tick();
    // An entry may name a hub that this one cannot judge yet.
    if (!this.#directory.isUp) return;
    this.roll.judge(this.#directory.upSinceMs);
    this.#orphans.tick();
  }

  /** Writes when rooms were used last. */
  noteUse(): void {
    void this.#sharedRooms.noteUse(this.#parts.operations().registry.rooms());
  }

  /**
   * Looks for a room that another hub may have made just now.
   *
   * @throws HubError `cluster_unavailable`
   */
  async catchUpRoom(code: string): Promise<void> {
    await reachable(() => this.#sharedRooms.catchUp(code));
  }

  /** What the front needs of it. */
  front(operations: OperationContext): FrontCluster {
    const ask = (hubId: string, question: unknown) => this.links.askOwner(hubId, question);
    return {
      relay: new OwnerRelay(operations, this.membership, ask),
      catchUpRoom: (code) => this.catchUpRoom(code),
      accept: (request, socket, head) => this.links.accept(request, socket, head),
      requestsElsewhere: (roomCode) => this.links.requestsElsewhere(roomCode),
      listHubs: () => this.roll.list(),
      advertisedUrls: () => this.roll.advertisedUrls(),
      advertiseUrl: () => this.roll.ownUrl,
    };
  }

  /**
   * This hub stops: the others learn it, and its participants go to them. Resolves once they are there, or after some
   * seconds; at once when no other hub can take them.
   */
  async handOver(tunnels: Pick<TunnelRegistry, "goAway" | "emptied">): Promise<void> {
    const { roll } = this;
    if (!roll.isAnnounced) return;
    roll.announce();
    // Workers of one port stop together, and have no URL of their own to go to.
    const isWelcome = roll.advertisedUrls().some((url) => url !== roll.ownUrl);
    if (!this.#directory.isUp || !isWelcome) return;
    handOverParticipants(this.#parts.operations());
    tunnels.goAway("the hub is stopping");
    await withinMs(tunnels.emptied(), handOverMs);
  }

  /** No new requests from other hubs. Not before what waits here for participants that have moved is forwarded. */
  drain(): void {
    this.links.refuseRequests("the hub is stopping");
  }

  /** Not before the other hubs were sent the rest of their responses. @param graceMs - for that, at most */
  async close(graceMs: number): Promise<void> {
    await withinMs(this.links.emptied(), graceMs);
    this.links.close("the hub has stopped");
    await this.#directory.close();
  }

  #stateChanged(isUp: boolean): void {
    if (isUp) this.#own.retry();
    const { log } = this.#parts;
    if (!this.#isOpen) return;
    const gone =
      "the cluster cannot be reached: what is connected here goes on, new rooms and joins are refused";
    log.warn(isUp ? "the cluster can be reached again" : gone);
  }

  #applyRoom(code: string, stored: StoredRoom | undefined): void {
    const operations = this.#parts.operations();
    if (stored === undefined) {
      const participants = operations.registry.findRoom(code)?.participants.values() ?? [];
      for (const participant of participants) this.#replica.forget(participant);
      this.#bridge.forget(code);
      forgetSharedRoom(operations, code);
      return;
    }
    // Of rooms that were there before this hub, the event is in another life.
    const isNew = this.#isOpen && !this.#parts.bus().hasCreated(code);
    if (takeSharedRoom(operations, stored, isNew)) this.#replica.roomAdded(code);
  }

  #entryOf(participant: Participant): ParticipantEntry {
    const { vault, nowMs, wallMs } = this.#parts;
    const { remote, config, key } = participant;
    const hasSecrets = remote?.hasSecrets ?? (config.instructions !== undefined || vault.has(key));
    const machine = sharedMachine(participant) ?? null;
    const machineKey =
      remote?.machineKey ?? clusterMachineKey(this.#parts.operations(), participant);
    const owner = remote === undefined ? this.self : (remote.owner ?? null);
    const more = { owner, machine, machineKey, hasSecrets };
    return encodeParticipant(participant, more, { nowMs, wallMs });
  }

  /** The entry that an event shows; undefined for events that show none. */
  #shownEntry(roomCode: string, payload: object): ShownEntry | undefined {
    const { participant: shown } = payload as { participant?: { id?: string } };
    const participantId = shown?.id;
    if (participantId === undefined) return undefined;
    const room = this.#parts.operations().registry.findRoom(roomCode);
    const participant = room?.participants.get(participantId);
    if (participant === undefined) return undefined;
    return {
      participantId,
      revision: participant.remote?.revision ?? this.#own.written(participant),
    };
  }

  #show(roomCode: string, { name, timestamp, payload }: ShownEvent): void {
    const bus = this.#parts.bus();
    // A name and its own payload, as another hub sent them.
    if (isDetail(name)) bus.publishDetail(roomCode, name, () => timestamp, payload as never);
    else bus.publish(roomCode, name, () => timestamp, payload as never);
  }
}
