import type { Machines } from "../../domain/machine.ts";
import {
  isFull,
  type HubIdentity,
  type Machine,
  type Participant,
} from "../../domain/participant.ts";
import type { Prompt } from "../../domain/placement/warm-conversations.ts";
import type { Room } from "../../domain/room.ts";
import type { RoomQueues } from "../queue.ts";
import type { ForwardRefusal } from "../upstream.ts";
import { LoadReports } from "./load-reports.ts";
import { MachineSlots } from "./machine-slots.ts";
import type {
  GrantNotice,
  LoadItem,
  MeasuredItem,
  NoticeItem,
  PaceSample,
  ParticipantRef,
  ResumedNotice,
  WaitNotice,
  WarmItem,
} from "./notices.ts";
import { Outbox } from "./outbox.ts";
import { isOwnedBy, type Later, type PeerLinks, type PeerNotes, refOf } from "./peers.ts";
import { readNotice } from "./read-notice.ts";
import { RemoteWaiters } from "./remote-waiters.ts";
import type { ForwardedSlots } from "./serve-forwarded.ts";
import { WaitReports } from "./wait-reports.ts";

export interface ExchangeDeps {
  links: PeerLinks;
  queues: () => RoomQueues;
  findRoom: (code: string) => Room | undefined;
  machines: () => Machines;
  /** the participants of this hub */
  own: () => Iterable<Participant>;
  makers: MakerMemory;
  /** The agent of an own participant refuses requests for its budget until then. */
  participantRests: (participant: Participant, untilMs: number) => void;
  /** A request of this hub goes on at another hub's participant. */
  requestResumed: (participant: Participant, requestId: string) => void;
  nowMs: () => number;
  later: Later;
}

/** Which participant made which response. */
interface MakerMemory {
  remember(room: Room, responseId: string, maker: Participant): void;
  ownerOf(room: Room, responseId: string): Participant | undefined;
}

/** The path of the question which participant made a response. */
const makerPath = "/response-maker";
const makerWithinMs = 300;

/** What the hubs of a cluster tell one another of their participants' slots, speed, warm prompts and responses. */
export class Exchange implements PeerNotes {
  readonly #deps: ExchangeDeps;
  readonly #outbox: Outbox;
  readonly #loads: LoadReports;
  readonly #waits: WaitReports;
  readonly #waiters: RemoteWaiters;
  readonly #machines: MachineSlots;

  constructor(deps: ExchangeDeps) {
    const { links, later, nowMs, queues, own, machines } = deps;
    this.#deps = deps;
    this.#outbox = new Outbox(links, later);
    this.#waits = new WaitReports(links, later, queues);
    this.#waiters = new RemoteWaiters({
      ...{ links, later, nowMs, queues },
      isOwn: (participant) =>
        participant.remote === undefined && this.#find(refOf(participant)) === participant,
      loadChanged: (participant) => this.loadChanged(participant),
    });
    this.#loads = new LoadReports({
      ...{ links, later, nowMs, own, outbox: this.#outbox },
      elsewhere: (participant, hubId) => this.#waiters.elsewhere(participant, hubId),
    });
    this.#machines = new MachineSlots({
      ...{ links, machines, later, nowMs },
      loadChanged: (participant) => this.#loads.changed(participant),
      wake: (roomCode) => queues().wake(roomCode),
    });
  }

  /** For the requests that other hubs forward. */
  get slots(): ForwardedSlots {
    return this.#waiters;
  }

  // — what this hub tells —

  /** A request of the room waits now, or no longer. */
  queueChanged(roomCode: string): void {
    this.#waits.queueChanged(roomCode);
    this.#machines.queueChanged(roomCode);
  }

  loadChanged(participant: Participant): void {
    const { machine } = participant;
    if (machine === undefined) this.#loads.changed(participant);
    else this.machineChanged(machine);
  }

  /** One of its slots was taken or freed, or other participants share it now. */
  machineChanged(machine: Machine): void {
    for (const member of machine.members) this.#loads.changed(member);
    this.#machines.changed(machine);
  }

  /** A request that another hub forwarded goes on. */
  resumed(participant: Participant, hubId: string, requestId: string): void {
    this.#deps.links.notify(hubId, { kind: "resumed", at: refOf(participant), requestId });
  }

  measured(participant: Participant, sample: PaceSample): void {
    this.noted(participant, { first: sample });
  }

  noted(participant: Participant, what: Omit<MeasuredItem, "kind" | "at">): void {
    const owner = participant.remote?.owner;
    if (owner === undefined) return;
    this.#outbox.send(owner.hubId, { kind: "measured", at: refOf(participant), ...what });
  }

  placed(participant: Participant, prompt: Prompt, isBound: boolean): void {
    if (prompt.session === undefined && prompt.borders.length === 0) return;
    // With a session, the borders are not looked at.
    const borders = prompt.session === undefined ? prompt.borders : [];
    const told = { ...prompt, borders };
    this.#outbox.sendAll({ kind: "warm", at: refOf(participant), prompt: told, isBound });
  }

  responseMade(participant: Participant, responseId: string): void {
    this.#outbox.sendAll({ kind: "response", at: refOf(participant), responseId });
  }

  async findMaker(room: Room, responseId: string): Promise<Participant | undefined> {
    const { links, makers } = this.#deps;
    const question = { roomCode: room.code, responseId };
    const found = links.openHubIds().map(async (hubId) => {
      const { body } = await links.ask(hubId, makerPath, question, makerWithinMs);
      const { id, key } = (body ?? {}) as Partial<Record<string, string>>;
      const maker = this.#find({ roomCode: room.code, id: id ?? "", key: key ?? "" });
      if (maker === undefined) throw new Error("unknown there");
      return maker;
    });
    try {
      const maker = await Promise.any(found);
      makers.remember(room, responseId, maker);
      return maker;
    } catch {
      return undefined; // no hub knows it, or none responded in time
    }
  }

  // — what other hubs tell —

  linkOpened({ hubId }: HubIdentity): void {
    this.#waits.forgetHub(hubId);
    this.#loads.hubOpened(hubId);
    this.#machines.hubOpened(hubId);
  }

  linkClosed({ hubId }: HubIdentity): void {
    this.#loads.hubClosed(hubId);
    this.#machines.hubClosed(hubId);
    this.#waiters.forgetHub(hubId);
  }

  noticed(hub: HubIdentity, notice: object): void {
    for (const item of readNotice(notice)) {
      if (item.kind === "machine") {
        this.#machines.noted(hub.hubId, item);
        continue;
      }
      const participant = this.#find(item.at);
      if (participant !== undefined) this.#apply(hub, participant, item);
    }
  }

  /** The response to a question of another hub; undefined for a question that is not for this part of the hub. */
  respond(path: string, question: unknown): { status: number; body: unknown } | undefined {
    if (path !== makerPath) return undefined;
    const { roomCode, responseId } = (question ?? {}) as Partial<Record<string, string>>;
    const room = this.#deps.findRoom(roomCode ?? "");
    const maker = room && this.#deps.makers.ownerOf(room, responseId ?? "");
    if (maker === undefined) return { status: 404, body: null };
    return { status: 200, body: { id: maker.id, key: maker.key } };
  }

  /** The owner of a remote participant did not take a request. */
  refused(at: ParticipantRef, { elsewhere, limit }: ForwardRefusal): void {
    const participant = this.#find(at);
    if (participant?.remote === undefined || elsewhere === undefined) return;
    participant.remote.elsewhere = elsewhere;
    if (limit !== undefined) participant.limit = limit;
  }

  #apply(
    hub: HubIdentity,
    participant: Participant,
    item: WaitNotice | GrantNotice | ResumedNotice | NoticeItem,
  ): void {
    const isOwn = participant.remote === undefined;
    switch (item.kind) {
      case "wait":
        if (isOwn) this.#waiters.noteWaiting(hub.hubId, participant, item);
        return;
      case "grant":
        if (isOwnedBy(participant, hub)) this.#useGrant(participant, item.isOwn === true);
        return;
      case "resumed":
        if (isOwnedBy(participant, hub)) this.#deps.requestResumed(participant, item.requestId);
        return;
      case "load":
        if (isOwnedBy(participant, hub)) this.#applyLoad(participant, item);
        return;
      case "measured":
        if (isOwn) this.#applyMeasured(participant, item);
        return;
      case "warm":
        return this.#applyWarm(participant, item);
      case "response":
        return this.#remember(participant, item.responseId);
    }
  }

  #useGrant(participant: Participant, isOwn: boolean): void {
    const { remote, roomCode } = participant;
    if (remote === undefined) return;
    remote.grant = isOwn ? "own" : "any";
    this.#deps.queues().wake(roomCode);
    // What nothing waits for any more expires at its owner.
    remote.grant = undefined;
    this.#waits.granted(participant);
  }

  #applyLoad(participant: Participant, load: LoadItem): void {
    const { remote } = participant;
    if (remote === undefined) return;
    const wasFull = isFull(participant);
    remote.elsewhere = load.elsewhere;
    participant.limit = load.limit;
    participant.limitFrom = load.limitFrom;
    if (load.machine !== undefined) remote.machine = load.machine ?? undefined;
    participant.lastSeenAt = Math.max(participant.lastSeenAt, load.lastSeenAt);
    if (load.pace !== undefined) participant.pace.restore(load.pace, this.#deps.nowMs());
    if (wasFull && !isFull(participant)) this.#deps.queues().wake(participant.roomCode);
  }

  #applyMeasured(participant: Participant, measured: MeasuredItem): void {
    const { pace } = participant;
    const nowMs = this.#deps.nowMs();
    const { first, hasFailed, restsMs, refusesStreamUsage, reportsUsageItself } = measured;
    if (first?.shows === "load") pace.noteLoad(first.coldBytes, first.tookMs);
    else if (first !== undefined) pace.noteFirst(first.form, first, first.tookMs, nowMs);
    if (hasFailed === true) pace.noteFailure(nowMs);
    if (restsMs !== undefined) this.#deps.participantRests(participant, nowMs + restsMs);
    if (refusesStreamUsage === true) participant.refusesStreamUsage = true;
    if (reportsUsageItself === true) participant.reportsUsageItself = true;
    this.loadChanged(participant);
  }

  #applyWarm(participant: Participant, { prompt, isBound }: WarmItem): void {
    const placing = this.#deps.findRoom(participant.roomCode)?.placing;
    const nowMs = this.#deps.nowMs();
    placing?.warm.note(participant, prompt, nowMs);
    if (isBound && prompt.session !== undefined) {
      placing?.sessions.bind(prompt.session, participant, nowMs);
    }
  }

  #remember(participant: Participant, responseId: string): void {
    const room = this.#deps.findRoom(participant.roomCode);
    if (room !== undefined) this.#deps.makers.remember(room, responseId, participant);
  }

  #find({ roomCode, id, key }: ParticipantRef): Participant | undefined {
    const participant = this.#deps.findRoom(roomCode)?.participants.get(id);
    return participant?.key === key ? participant : undefined;
  }
}
