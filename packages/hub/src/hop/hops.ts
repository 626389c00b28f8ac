import { type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from "node:http";
import type { Duplex } from "node:stream";
import type { HubIdentity } from "../domain/hub-identity.ts";
import { acceptHop } from "./accept.ts";
import { closeSoon } from "./close-soon.ts";
import { type ControlOptions, ControlSockets } from "./control.ts";
import { HopDialler, type HopTarget } from "./dial.ts";
import type { PipeOutcome } from "./exchange.ts";
import { type Onward, passingHeaders, PEER_HEADER } from "./heads.ts";
import type { PipedRequest } from "./pipe.ts";
import { pipeUpgrade, type UpgradeOutcome } from "./pipe-upgrade.ts";
import { HopPool } from "./pool.ts";
import { ProofCheck } from "./proof.ts";

export interface HopsOptions extends Pick<
  ControlOptions,
  "self" | "world" | "onOpen" | "onReset" | "onNote"
> {
  /** at least 32 bytes, the same at all hubs of the cluster; never sent */
  secret: Uint8Array;
  /** value of {@link PEER_HEADER} in requests of this hub itself */
  facts: string;
  /** The latest run of a hub; undefined for one that is not there. */
  targetOf: (hubId: string) => HopTarget | undefined;
  /** Nothing listens where the hub was, and there is no connection to it. */
  onRefused: (hubId: string) => void;
  /** A connection of another hub, for its requests. */
  serve: (socket: Duplex) => void;
}

/** The home closes no connection that is idle. */
const idleMs = 60_000;

/** Connections to one run of a hub. */
interface HubPool {
  target: HopTarget;
  pool: HopPool;
}

/** A handshake as Node hands it over. */
export interface OpenUpgrade {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

/** All connections between this hub and the others: for clients' requests, and one to each for everything else. */
export class Hops {
  readonly control: ControlSockets;
  readonly #options: HopsOptions;
  readonly #dialler: HopDialler;
  readonly #check: ProofCheck;
  /** by hub: one run each, the latest */
  readonly #pools = new Map<string, HubPool>();
  /** the open connections of other hubs */
  readonly #accepted = new Set<Duplex>();
  /** by connection, also one that has closed: what ran over it asks afterwards */
  readonly #peers = new WeakMap<object, HubIdentity>();

  constructor(options: HopsOptions) {
    this.#options = options;
    const { self, secret, world } = options;
    const onRefused = (hubId: string) => {
      if (!this.control.isOpen(hubId)) options.onRefused(hubId);
    };
    this.#dialler = new HopDialler({ self, secret, world, onRefused });
    this.control = new ControlSockets({ ...options, dialler: this.#dialler });
    this.#check = new ProofCheck(self, secret, () => world.wallMs());
  }

  /** Never rejects. @param facts - value of the header by which one hub tells another of a client */
  send(piped: PipedRequest, home: HubIdentity, facts: string): Promise<PipeOutcome> {
    const pool = this.#poolOf(home);
    if (pool === undefined) return Promise.resolve({ kind: "untaken", wasReached: false });
    return piped.sendOver(pool, toHub(piped.request, facts));
  }

  /**
   * A request of this hub itself: GET, or POST with a message.
   *
   * @param signal - ends it, also while the body is being read
   * @returns the response; the caller reads its body
   * @throws Error of a hub that is not there, or of the connection
   */
  ask(
    hub: HubIdentity,
    path: string,
    signal: AbortSignal,
    message?: string,
  ): Promise<IncomingMessage> {
    const pool = this.#poolOf(hub);
    if (pool === undefined) return Promise.reject(new Error("the hub is not there"));
    const { createConnection } = pool;
    const headers: OutgoingHttpHeaders = { [PEER_HEADER]: this.#options.facts };
    if (message !== undefined) headers["content-length"] = Buffer.byteLength(message);
    const method = message === undefined ? "GET" : "POST";
    return new Promise((resolve, reject) => {
      const outgoing = requestHttp({ createConnection, method, path, headers, signal });
      outgoing.on("response", resolve).on("error", reject).end(message);
    });
  }

  /** Never rejects. */
  async pipeUpgrade(
    arriving: OpenUpgrade,
    home: HubIdentity,
    facts: string,
  ): Promise<UpgradeOutcome> {
    const pool = this.#poolOf(home);
    if (pool === undefined) return "untaken";
    return pipeUpgrade(pool, toHub(arriving.request, facts), arriving);
  }

  /** Completes the handshake of another hub, or refuses it. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const claim = acceptHop(this.#check, request, socket, head);
    if (claim?.kind === "control") this.control.accept(socket, claim.from);
    if (claim?.kind === "requests") this.accepted(socket, claim.from);
  }

  /** Another hub has dialled, to send requests. */
  accepted(socket: Duplex, hub: HubIdentity): void {
    this.#peers.set(socket, hub);
    this.#accepted.add(socket);
    socket.on("close", () => this.#accepted.delete(socket));
    this.#options.serve(socket);
  }

  /** Which hub a connection comes from. */
  peerOf(socket: object): HubIdentity | undefined {
    return this.#peers.get(socket);
  }

  /** That run of a hub is dead: what was sent to a silent computer would wait for minutes. */
  hubGone(hub: HubIdentity): void {
    this.control.hubGone(hub);
    const { hubId, bootId } = hub;
    const known = this.#pools.get(hubId);
    if (known?.target.bootId === bootId) known.pool.destroy();
    for (const socket of this.#accepted) {
      const peer = this.#peers.get(socket);
      if (peer?.hubId === hubId && peer.bootId === bootId) socket.destroy();
    }
  }

  /** Four times a second. */
  tick(): void {
    this.control.tick();
    for (const { pool } of this.#pools.values()) pool.dropOld();
  }

  close(): void {
    this.control.close();
    for (const { pool } of this.#pools.values()) pool.destroy();
    this.#pools.clear();
    for (const socket of this.#accepted) closeSoon(this.#options.world, socket);
  }

  #poolOf({ hubId, bootId }: HubIdentity): HopPool | undefined {
    const { targetOf, world } = this.#options;
    const target = targetOf(hubId);
    if (target === undefined || target.bootId !== bootId) return undefined;
    const known = this.#pools.get(hubId);
    // A hub that was thought dead may be there again, with its pool cut.
    const isSame = known?.target.linkUrl === target.linkUrl && known.target.bootId === bootId;
    if (isSame && !known.pool.isCut) return known.pool;
    known?.pool.destroy();
    const pool = new HopPool(() => this.#dialler.dial(target, "requests"), world, idleMs);
    this.#pools.set(hubId, { target, pool });
    return pool;
  }
}

function toHub({ url = "/", rawHeaders }: IncomingMessage, facts: string): Onward {
  const fields = passingHeaders(rawHeaders);
  fields.push(PEER_HEADER, facts);
  return { path: url, fields };
}
