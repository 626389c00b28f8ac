import type { Duplex } from "node:stream";
import type { HubIdentity } from "../domain/hub-identity.ts";
import { type HopDialler, HopFailure, type HopTarget } from "./dial.ts";

/** What one hub tells another, as few messages as there are turns of the event loop. */
export interface HopNotes {
  /** request ids whose clients have the whole response */
  delivered?: string[];
  /** request ids whose clients left before */
  gone?: string[];
  /** requests of the rooms of a hub that ended while it served them, as `http/hops/` reads them */
  lost?: unknown[];
  /** by room code: the highest epoch that is known */
  epochs?: Record<string, number>;
  /** what happened in a room that has its home there; opaque here */
  event?: object;
}

export interface ControlOptions {
  self: HubIdentity;
  dialler: Pick<HopDialler, "dial">;
  onOpen: (hubId: string) => void;
  /** The connection broke. It is dialled again until it is open, or the hub is gone. */
  onReset: (hubId: string) => void;
  /** Its computer refused a dial. */
  onRefused: (hubId: string) => void;
  onNotes: (hubId: string, notes: HopNotes) => void;
  nowMs: () => number;
}

/** Sent when there is nothing else to say. */
const beatMs = 3_000;
/** A connection on which nothing came for so long does not count as open. */
const silentMs = 10_000;
const redialMs = 400;
const maxLineBytes = 1024 * 1024;

interface Peer {
  target: HopTarget;
  socket: Duplex | undefined;
  /** This hub dialled the socket. */
  isDialled: boolean;
  notes: HopNotes | undefined;
  heardMs: number;
  saidMs: number;
  /** ms: when to dial, if at all */
  dialAtMs: number | undefined;
  problem: string | undefined;
}

/**
 * One connection to each other hub of the cluster, for what is not a request. The hub with the lower id dials; after it
 * broke both do, so that each sees whether the other one still listens.
 */
export class ControlSockets {
  readonly #options: ControlOptions;
  readonly #peers = new Map<string, Peer>();
  /** of hubs that dialled before their presence was reported */
  readonly #early = new Map<string, { socket: Duplex; bootId: string }>();
  /** of hubs that have left */
  readonly #leaving = new Set<Duplex>();
  #isFlushDue = false;
  #isClosed = false;

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  isOpen(hubId: string): boolean {
    const peer = this.#peers.get(hubId);
    if (peer?.socket === undefined) return false;
    return this.#options.nowMs() - peer.heardMs <= silentMs;
  }

  problemOf(hubId: string): string | undefined {
    return this.#peers.get(hubId)?.problem;
  }

  targetOf(hubId: string): HopTarget | undefined {
    return this.#peers.get(hubId)?.target;
  }

  hubPresent({ hubId, bootId, linkUrl }: HopTarget): void {
    const { self, nowMs } = this.#options;
    if (hubId === self.hubId || this.#isClosed) return;
    const known = this.#peers.get(hubId);
    if (known?.target.bootId === bootId) {
      known.target = { hubId, bootId, linkUrl };
      return;
    }
    known?.socket?.destroy();
    const dialAtMs = self.hubId < hubId ? nowMs() : undefined;
    this.#peers.set(hubId, {
      ...{ target: { hubId, bootId, linkUrl }, socket: undefined, notes: undefined },
      isDialled: false,
      ...{ heardMs: 0, saidMs: 0, dialAtMs, problem: undefined },
    });
    const early = this.#early.get(hubId);
    this.#early.delete(hubId);
    if (early?.bootId === bootId) this.#opened(hubId, early.socket, false);
    else early?.socket.destroy();
    if (dialAtMs !== undefined) this.#dial(hubId);
  }

  /** In order: what it said last may still be on its way, and it closes the connection. */
  hubLeft(hubId: string): void {
    const { socket } = this.#peers.get(hubId) ?? {};
    this.#peers.delete(hubId);
    if (socket === undefined) return;
    this.#leaving.add(socket);
    socket.on("close", () => this.#leaving.delete(socket));
  }

  hubGone(hubId: string): void {
    const peer = this.#peers.get(hubId);
    this.#peers.delete(hubId);
    peer?.socket?.destroy();
  }

  /** Another hub has dialled. */
  accept(socket: Duplex, { hubId, bootId }: HubIdentity): void {
    const peer = this.#peers.get(hubId);
    if (peer?.target.bootId === bootId) {
      this.#opened(hubId, socket, false);
      return;
    }
    this.#early.get(hubId)?.socket.destroy();
    this.#early.set(hubId, { socket, bootId });
    socket.on("error", ignore);
    socket.on("close", () => {
      if (this.#early.get(hubId)?.socket === socket) this.#early.delete(hubId);
    });
  }

  /** Sent with the others of this turn, or once there is a connection; lost when that is. */
  delivered(hubId: string, requestId: string): void {
    const notes = this.#notesFor(hubId);
    if (notes !== undefined) (notes.delivered ??= []).push(requestId);
  }

  gone(hubId: string, requestId: string): void {
    const notes = this.#notesFor(hubId);
    if (notes !== undefined) (notes.gone ??= []).push(requestId);
  }

  lost(hubId: string, lost: object): void {
    const notes = this.#notesFor(hubId);
    if (notes !== undefined) (notes.lost ??= []).push(lost);
  }

  epoch(hubId: string, code: string, epoch: number): void {
    const notes = this.#notesFor(hubId);
    if (notes !== undefined) (notes.epochs ??= {})[code] = epoch;
  }

  /** @returns false when there is no connection now */
  event(hubId: string, event: object): boolean {
    const peer = this.#peers.get(hubId);
    if (peer?.socket === undefined) return false;
    // In the order of the other notes, and in a message of its own: there may be many.
    this.#flush();
    this.#write(peer, peer.socket, { event });
    return true;
  }

  /** Four times a second. */
  tick(): void {
    const nowMs = this.#options.nowMs();
    for (const [hubId, peer] of this.#peers) {
      if (peer.socket !== undefined) {
        if (nowMs - peer.saidMs >= beatMs) this.#write(peer, peer.socket, {});
        if (nowMs - peer.heardMs > silentMs) peer.socket.destroy();
      } else if (peer.dialAtMs !== undefined && nowMs >= peer.dialAtMs) {
        this.#dial(hubId);
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#flush();
    // What was written last is still to arrive.
    for (const { socket } of this.#peers.values()) socket?.end(() => socket.destroy());
    for (const { socket } of this.#early.values()) socket.destroy();
    for (const socket of this.#leaving) socket.destroy();
    this.#peers.clear();
    this.#early.clear();
  }

  #notesFor(hubId: string): HopNotes | undefined {
    const peer = this.#peers.get(hubId);
    if (peer === undefined) return undefined;
    if (!this.#isFlushDue) {
      this.#isFlushDue = true;
      setImmediate(() => this.#flush());
    }
    return (peer.notes ??= {});
  }

  #flush(): void {
    this.#isFlushDue = false;
    for (const peer of this.#peers.values()) {
      const { notes, socket } = peer;
      if (notes === undefined || socket === undefined) continue;
      peer.notes = undefined;
      this.#write(peer, socket, notes);
    }
  }

  #write(peer: Peer, socket: Duplex, notes: HopNotes): void {
    peer.saidMs = this.#options.nowMs();
    socket.write(`${JSON.stringify(notes)}\n`);
  }

  #dial(hubId: string): void {
    const { dialler, nowMs, onRefused } = this.#options;
    const peer = this.#peers.get(hubId);
    if (peer === undefined) return;
    peer.dialAtMs = undefined;
    dialler.dial(peer.target, "control").then(
      (socket) => {
        // Of two that were dialled at the same time the same rule decides at both hubs.
        if (this.#peers.get(hubId) !== peer) socket.destroy();
        else this.#opened(hubId, socket, true);
      },
      (error: unknown) => {
        if (this.#peers.get(hubId) !== peer || peer.socket !== undefined) return;
        peer.problem = error instanceof Error ? error.message : String(error);
        peer.dialAtMs = nowMs() + redialMs;
        if (error instanceof HopFailure && error.isRefused) onRefused(hubId);
      },
    );
  }

  #opened(hubId: string, socket: Duplex, isDialled: boolean): void {
    const { self, onOpen, nowMs } = this.#options;
    const peer = this.#peers.get(hubId);
    const before = peer?.socket;
    // Of two that were dialled at the same time, both hubs keep that of the hub with the lower id.
    const isOwnTurn = self.hubId < hubId;
    const isSecond =
      before !== undefined && peer?.isDialled === isOwnTurn && isDialled !== isOwnTurn;
    if (peer === undefined || (isSecond && nowMs() - peer.heardMs <= beatMs + redialMs)) {
      socket.on("error", ignore).destroy();
      return;
    }
    peer.socket = socket;
    peer.isDialled = isDialled;
    peer.heardMs = nowMs();
    peer.problem = undefined;
    before?.destroy();
    const read = lineReader((notes) => {
      peer.heardMs = nowMs();
      this.#options.onNotes(hubId, notes);
    });
    socket.on("error", ignore);
    // A socket that a server accepted stays half open: its end would be noticed at the second beat after it.
    socket.on("end", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      if (!read(chunk)) socket.destroy();
    });
    socket.on("close", () => {
      if (peer.socket !== socket) return;
      peer.socket = undefined;
      if (this.#peers.get(hubId) !== peer) return;
      peer.dialAtMs = nowMs();
      this.#options.onReset(hubId);
    });
    this.#write(peer, socket, peer.notes ?? {});
    peer.notes = undefined;
    onOpen(hubId);
  }
}

/** @returns a function that takes bytes; false when they are no notes */
function lineReader(onNotes: (notes: HopNotes) => void): (chunk: Buffer) => boolean {
  let rest = "";
  const decoder = new TextDecoder();
  return (chunk) => {
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > maxLineBytes) return false;
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const notes = parsed(line);
      if (notes === undefined) return false;
      onNotes(notes);
    }
    return true;
  };
}

function parsed(line: string): HopNotes | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function ignore(): void {}
