import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { HubIdentity } from "../domain/participant.ts";
import { HopAgent } from "./agent.ts";
import { type HopDialler, HopFailure, type HopTarget } from "./dial.ts";
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
  /** Never rejects. */
  send(home: HubIdentity, facts: string): Promise<PipeOutcome>;
}

/** A handshake as Node hands it over. */
export interface OpenUpgrade {
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

const notThere = new HopFailure("the hub is not there", false);

/** The connections that take clients' requests to other hubs. */
export class Hops {
  readonly #options: HopsOptions;
  /** by hub: one run each, the latest */
  readonly #agents = new Map<string, HopAgent>();

  constructor(options: HopsOptions) {
    this.#options = options;
  }

  open(request: IncomingMessage, response: ServerResponse): OpenRequest {
    const piped = new PipedRequest(request, response);
    return {
      get isWhole() {
        return piped.isWhole;
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

  /** Never rejects. */
  async pipeUpgrade(
    arriving: OpenUpgrade,
    home: HubIdentity,
    facts: string,
  ): Promise<UpgradeOutcome> {
    const agent = this.#agentOf(home);
    if (agent === undefined) return "untaken";
    return pipeUpgrade(agent, facts, arriving, isHomeElsewhere);
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #agentOf({ hubId, bootId }: HubIdentity): HopAgent | undefined {
    const target = this.#options.targetOf(hubId);
    if (target === undefined || target.bootId !== bootId) return undefined;
    const known = this.#agents.get(hubId);
    if (known?.target.bootId === bootId && known.target.linkUrl === target.linkUrl) return known;
    known?.destroy();
    const agent = new HopAgent(target, this.#options.dialler);
    this.#agents.set(hubId, agent);
    return agent;
  }
}

/** A tunnel's session may be elsewhere, too, which its agent has to hear. */
function isHomeElsewhere(status: number, body: string): boolean {
  return status === 421 && body.includes('"code":"home_elsewhere"');
}
