import { type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HubIdentity } from "../domain/hub-identity.ts";
import { HopAgent } from "./agent.ts";
import { closeSoon } from "./close-soon.ts";
import { type HopDialler, HopFailure, type HopTarget } from "./dial.ts";
import { PEER_HEADER } from "./heads.ts";
import { PipedRequest, type PipeOutcome } from "./pipe.ts";
import { pipeUpgrade, type UpgradeOutcome } from "./pipe-upgrade.ts";

export interface HopsOptions {
  dialler: HopDialler;
  /** The latest run of a hub; undefined for one that is not there. */
  targetOf: (hubId: string) => HopTarget | undefined;
  /** Its computer refused a connection. */
  onRefused: (hubId: string) => void;
}

/** A request that may go to several hubs, one after the other. */
export interface OpenRequest {
  /** Nothing of its body was read. */
  readonly isWhole: boolean;
  /** It may go to another hub after one that did not take it. */
  readonly canBeSent: boolean;
  /** Never rejects. */
  send(home: HubIdentity, facts: string): Promise<PipeOutcome>;
}

/** A handshake as Node hands it over. */
export interface OpenUpgrade {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

const tellMs = 5_000;

const notThere = new HopFailure("the hub is not there", false);

/** The connections that take clients' requests to other hubs. */
export class Hops {
  readonly #options: HopsOptions;
  /** by hub: one run each, the latest */
  readonly #agents = new Map<string, HopAgent>();
  /** the open connections of other hubs */
  readonly #accepted = new Set<Duplex>();
  /** by connection, also one that has closed: what ran over it asks afterwards */
  readonly #peers = new WeakMap<object, HubIdentity>();

  constructor(options: HopsOptions) {
    this.#options = options;
  }

  /** @param body - of a request that was read; left out: it was not */
  open(request: IncomingMessage, response: ServerResponse, body?: readonly Buffer[]): OpenRequest {
    const piped = new PipedRequest(request, response, body);
    return {
      get isWhole() {
        return piped.isWhole;
      },
      get canBeSent() {
        return piped.canBeSent;
      },
      send: async (home, facts) => {
        const agent = this.#agentOf(home);
        if (agent === undefined) return { kind: "untaken", failure: notThere };
        const outcome = await piped.send(agent, facts);
        if (outcome.kind === "untaken" && outcome.failure?.isRefused === true)
          this.#options.onRefused(home.hubId);
        return outcome;
      },
    };
  }

  /**
   * A request of this hub itself.
   *
   * @param facts - value of {@link PEER_HEADER}
   * @param signal - ends it, also while the body is being read
   * @returns the response; the caller reads its body
   * @throws HopFailure, or the error of the connection
   */
  get(
    hub: HubIdentity,
    path: string,
    facts: string,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const agent = this.#agentOf(hub);
    if (agent === undefined) return Promise.reject(notThere);
    return new Promise((resolve, reject) => {
      const headers = { [PEER_HEADER]: facts };
      const outgoing = requestHttp({ agent, path, headers, signal });
      outgoing.on("response", resolve).on("error", reject).end();
    });
  }

  /** Never rejects. */
  async pipeUpgrade(
    arriving: OpenUpgrade,
    home: HubIdentity,
    facts: string,
  ): Promise<UpgradeOutcome> {
    const agent = this.#agentOf(home);
    if (agent === undefined) return "untaken";
    return pipeUpgrade(agent, facts, arriving);
  }

  /**
   * Sends what this hub itself has to say to another one.
   *
   * @returns whether that hub takes it: it responds with 204, within 5 s
   */
  async tell(to: HubIdentity, path: string, message: string): Promise<boolean> {
    const agent = this.#agentOf(to);
    return agent !== undefined && (await tellHub(agent, path, message));
  }

  /** Another hub has dialled, to send requests. */
  accepted(socket: Duplex, hub: HubIdentity): void {
    this.#peers.set(socket, hub);
    this.#accepted.add(socket);
    socket.on("close", () => this.#accepted.delete(socket));
  }

  /** Which hub a connection comes from. */
  peerOf(socket: object): HubIdentity | undefined {
    return this.#peers.get(socket);
  }

  /** That run of a hub is dead: what was sent to a silent computer would wait for minutes. */
  hubGone({ hubId, bootId }: HubIdentity): void {
    const agent = this.#agents.get(hubId);
    if (agent?.target.bootId === bootId) agent.destroy();
    for (const socket of this.#accepted) {
      const peer = this.#peers.get(socket);
      if (peer?.hubId === hubId && peer.bootId === bootId) socket.destroy();
    }
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
    for (const socket of this.#accepted) closeSoon(socket);
  }

  #agentOf({ hubId, bootId }: HubIdentity): HopAgent | undefined {
    const target = this.#options.targetOf(hubId);
    if (target === undefined || target.bootId !== bootId) return undefined;
    const known = this.#agents.get(hubId);
    if (known?.isFor(target) === true) return known;
    known?.destroy();
    const agent = new HopAgent(target, this.#options.dialler);
    this.#agents.set(hubId, agent);
    return agent;
  }
}

function tellHub(agent: HopAgent, path: string, message: string): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { "content-length": Buffer.byteLength(message) };
    const signal = AbortSignal.timeout(tellMs);
    const outgoing = requestHttp({ agent, method: "POST", path, headers, signal });
    outgoing.on("response", (response) => {
      response.resume();
      resolve(response.statusCode === 204);
    });
    outgoing.on("error", () => resolve(false));
    outgoing.end(message);
  });
}
