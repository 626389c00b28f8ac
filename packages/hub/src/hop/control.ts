import type { World } from "@roomhub/protocol";
import type { Duplex } from "node:stream";
import type { HubIdentity } from "../domain/hub-identity.ts";
import { closeSoon } from "./close-soon.ts";
import type { HopDialler, HopTarget } from "./dial.ts";
import { type HopNote, Outbox } from "./outbox.ts";

export interface ControlOptions {
  self: HubIdentity;
  dialler: Pick<HopDialler, "dial">;
  onOpen: (hubId: string) => void;
  /** The connection broke. It is dialled again until it is open, or the hub is gone. */
  onReset: (hubId: string) => void;
  /** Once for each, in their order, over however many connections they came. */
  onNote: (note: HopNote) => void;
  world: World;
}

/** Sent when there is nothing else to say. */
const beatMs = 3_000;
/** A connection on which nothing came for so long does not count as open. */
const silentMs = 10_000;
const redialMs = 400;
/** of one message */
const maxNotes = 100;
/** A run that is judged dead may be heard of again. */
const rememberedMs = 10 * 60_000;

/** One run of another hub. */
interface Peer {
  readonly hub: HubIdentity;
  readonly outbox: Outbox;
  /** where it is dialled; undefined while it is not known to be there */
  target: HopTarget | undefined;
  socket: Duplex | undefined;
  /** This hub dialled the socket. */
  isDialled: boolean;
  /** what is said at the end of this turn */
  notes: HopNote[];
  heardMs: number;
  saidMs: number;
  /** ms: when to dial, if at all */
  dialAtMs: number | undefined;
  problem: string | undefined;
}

/**
 * One connection to each other hub of the cluster, for what is not a request. The hub with the lower id dials; after it
 * broke both do, so that each sees whether the other one still listens. What was not acknowledged on one is said again on
 * the next.
 */
export class ControlSockets {
  readonly #options: ControlOptions;
  /** by run, including runs whose presence is unknown: they dialled before, or are thought dead */
  readonly #peers = new Map<string, Peer>();
  /** by hub: the run that is there */
  readonly #present = new Map<string, Peer>();
  readonly #sockets = new Set<Duplex>();
  #isFlushDue = false;
  #isClosed = false;

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  /** @param bootId - of the run that is meant; undefined for whichever there is */
  isOpen(hubId: string, bootId?: string): boolean {
    const peer = this.#present.get(hubId);
    if (peer?.socket === undefined || (bootId ?? peer.hub.bootId) !== peer.hub.bootId) return false;
    return this.#nowMs() - peer.heardMs <= silentMs;
  }

  problemOf(hubId: string): string | undefined {
    return this.#present.get(hubId)?.problem;
  }

  hubPresent({ hubId, bootId, linkUrl }: HopTarget): void {
    const { self } = this.#options;
    if (hubId === self.hubId || this.#isClosed) return;
    const peer = this.#peerOf({ hubId, bootId });
    const isNew = peer.target === undefined;
    peer.target = { hubId, bootId, linkUrl };
    if (!isNew) return;
    const before = this.#present.get(hubId);
    if (before !== undefined) this.hubGone(before.hub);
    this.#present.set(hubId, peer);
    if (peer.socket !== undefined) this.#options.onOpen(hubId);
    else if (self.hubId < hubId || peer.saidMs > 0) this.#dial(peer);
  }

  /** In order: what it said last may still be on its way, and it closes the connection. */
  hubLeft(hubId: string): void {
    const peer = this.#present.get(hubId);
    if (peer === undefined) return;
    this.#present.delete(hubId);
    peer.target = undefined;
    peer.dialAtMs = undefined;
  }

  /** That run of it. */
  hubGone({ hubId, bootId }: HubIdentity): void {
    const peer = this.#present.get(hubId);
    if (peer?.hub.bootId !== bootId) return;
    this.hubLeft(hubId);
    peer.socket?.destroy();
  }

  /** Another hub has dialled, perhaps before its presence is reported. */
  accept(socket: Duplex, hub: HubIdentity): void {
    this.#opened(this.#peerOf(hub), socket, false);
  }

  /** Said with the others of this turn; before there is a connection, with the next one. */
  say(hubId: string, ...note: HopNote): void {
    const peer = this.#present.get(hubId);
    if (peer === undefined) return;
    if (peer.notes.push(note) >= maxNotes) this.#flush();
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    this.#options.world.setImmediate(() => this.#flush());
  }

  /** Four times a second. */
  tick(): void {
    const nowMs = this.#nowMs();
    for (const [key, peer] of this.#peers) {
      const { socket, outbox, dialAtMs } = peer;
      if (socket !== undefined) {
        if (outbox.owesWord || nowMs - peer.saidMs >= beatMs) this.#write(peer, outbox.word());
        if (nowMs - peer.heardMs > silentMs) socket.destroy();
      } else if (dialAtMs !== undefined && nowMs >= dialAtMs) {
        this.#dial(peer);
      } else if (peer.target === undefined && nowMs - peer.heardMs > rememberedMs) {
        this.#peers.delete(key);
      }
    }
  }

  close(): void {
    this.#flush();
    this.#isClosed = true;
    for (const socket of this.#sockets) closeSoon(this.#options.world, socket);
    this.#present.clear();
    this.#peers.clear();
  }

  #peerOf(hub: HubIdentity): Peer {
    const key = `${hub.hubId} ${hub.bootId}`;
    const known = this.#peers.get(key);
    if (known !== undefined) return known;
    const peer: Peer = {
      ...{ hub, outbox: new Outbox(), target: undefined, socket: undefined },
      ...{ isDialled: false, notes: [], dialAtMs: undefined, problem: undefined },
      ...{ heardMs: this.#nowMs(), saidMs: 0 },
    };
    this.#peers.set(key, peer);
    return peer;
  }

  #nowMs(): number {
    return this.#options.world.monotonicMs();
  }

  #flush(): void {
    this.#isFlushDue = false;
    for (const peer of this.#present.values()) {
      const { notes, outbox } = peer;
      if (notes.length === 0) continue;
      peer.notes = [];
      const line = outbox.say(notes);
      if (line !== undefined) this.#write(peer, line);
    }
  }

  #write(peer: Peer, line: string): void {
    peer.saidMs = this.#nowMs();
    peer.socket?.write(line);
  }

  #dial(peer: Peer): void {
    const { dialler } = this.#options;
    const { target } = peer;
    if (target === undefined) return;
    peer.dialAtMs = undefined;
    dialler.dial(target, "control").then(
      (socket) => this.#opened(peer, socket, true),
      (error: unknown) => {
        if (peer.target === undefined || peer.socket !== undefined) return;
        peer.problem = error instanceof Error ? error.message : String(error);
        peer.dialAtMs = this.#nowMs() + redialMs;
      },
    );
  }

  #opened(peer: Peer, socket: Duplex, isDialled: boolean): void {
    const { self, onOpen, onNote } = this.#options;
    const { hub, outbox, socket: before } = peer;
    // Of two that were dialled at the same time, both hubs keep that of the hub with the lower id.
    const isOwnTurn = self.hubId < hub.hubId;
    const isSecond =
      before !== undefined && peer.isDialled === isOwnTurn && isDialled !== isOwnTurn;
    const isUnwanted = this.#isClosed || (isDialled && peer.target === undefined);
    socket.on("error", ignore);
    if (isUnwanted || (isSecond && this.#nowMs() - peer.heardMs <= beatMs + redialMs)) {
      socket.destroy();
      return;
    }
    Object.assign(peer, { socket, isDialled, heardMs: this.#nowMs(), problem: undefined });
    peer.dialAtMs = undefined;
    this.#sockets.add(socket);
    before?.destroy();
    const read = outbox.opened(onNote, (line) => this.#write(peer, line));
    socket.on("data", (chunk: Buffer) => {
      // Of a connection that another one has replaced, the other one says it again.
      if (peer.socket !== socket) return;
      peer.heardMs = this.#nowMs();
      if (!read(chunk)) socket.destroy();
    });
    // A socket that a server accepted stays half open: its end would be noticed at the second beat after it.
    socket.on("end", () => socket.destroy());
    socket.on("close", () => this.#closed(peer, socket));
    if (peer.target !== undefined) onOpen(hub.hubId);
  }

  #closed(peer: Peer, socket: Duplex): void {
    this.#sockets.delete(socket);
    if (peer.socket !== socket) return;
    peer.socket = undefined;
    peer.outbox.closed();
    if (peer.target === undefined || this.#isClosed) return;
    peer.dialAtMs = this.#nowMs();
    this.#options.onReset(peer.hub.hubId);
  }
}

function ignore(): void {}
