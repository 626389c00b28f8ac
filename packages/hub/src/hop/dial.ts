import { pinnedAgent, pinText, timeoutSignal, type World } from "@roomhub/protocol";
import { type Agent, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import type { HubIdentity } from "../domain/hub-identity.ts";
import { ALIVE_PROBE_MS, HOP_PROTOCOL, TIME_HEADER } from "./accept.ts";
import { type Claim, type HopKind, isAcceptance, PROOF_HEADER, proofOf } from "./proof.ts";

/** Where another hub takes hops. */
const HOP_PATH = "/v1/cluster/hop";

export type { Home, HubIdentity as HopHub, Place } from "../domain/hub-identity.ts";

/** Another hub, as it is reached. */
export interface HopTarget extends HubIdentity {
  /** `http:` or `https:`; with `#pin=…` only the hub with that key is dialled */
  linkUrl: string;
}

export interface DiallerOptions {
  self: HubIdentity;
  secret: Uint8Array;
  world: World;
  /** Its computer says that nothing listens there. */
  onRefused: (hubId: string) => void;
}

/** A computer that is off says nothing. */
const dialMs = 2_000;

/** Opens connections to other hubs. */
export class HopDialler {
  readonly #options: DiallerOptions;
  /** by hub, where its clock differs too much from this one's: ms to add */
  readonly #clockOffsets = new Map<string, number>();

  constructor(options: DiallerOptions) {
    this.#options = options;
  }

  /** @throws Error that says why the hub was not reached */
  async dial(target: HopTarget, kind: HopKind): Promise<Socket> {
    try {
      return await this.#dial(target, kind);
    } catch (error) {
      if (isRefusal(error as NodeJS.ErrnoException)) this.#options.onRefused(target.hubId);
      throw error;
    }
  }

  async #dial(target: HopTarget, kind: HopKind): Promise<Socket> {
    const first = await this.#try(target, kind);
    if (first.socket !== undefined) return first.socket;
    const { hubTime, problem } = first;
    if (problem !== "wrong-time" || hubTime === undefined) throw notTaken(problem);
    // Once: what it says may be as wrong as what this hub thinks.
    this.#clockOffsets.set(target.hubId, hubTime - this.#options.world.wallMs());
    const second = await this.#try(target, kind);
    if (second.socket !== undefined) return second.socket;
    throw notTaken(second.problem);
  }

  async #try(target: HopTarget, kind: HopKind): Promise<Answer> {
    const { self, secret, world } = this.#options;
    const offsetMs = this.#clockOffsets.get(target.hubId) ?? 0;
    const claim: Claim = {
      ...{ kind, from: self, to: { hubId: target.hubId, bootId: target.bootId } },
      sentAt: Math.round(world.wallMs() + offsetMs),
      nonce: Buffer.from(world.randomBytes(16)).toString("hex"),
    };
    const answer = await handshake(world, target.linkUrl, proofOf(claim, secret));
    if (answer.socket !== undefined && !isAcceptance(claim, secret, answer.proof)) {
      answer.socket.destroy();
      throw new Error("what responds there does not know the cluster's secret");
    }
    return answer;
  }
}

interface Answer {
  socket?: Socket;
  proof?: unknown;
  problem?: string;
  /** epoch ms */
  hubTime?: number;
}

function notTaken(problem: string | undefined): Error {
  return new Error(`it did not take the connection: ${problem ?? "unknown"}`);
}

function handshake(world: World, linkUrl: string, proof: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const url = new URL(HOP_PATH, linkUrl);
    const pin = pinText(linkUrl);
    const open = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = open(url, {
      headers: { connection: "Upgrade", upgrade: HOP_PROTOCOL, [PROOF_HEADER]: proof },
      // The proof is shown to the hub with the pinned key alone: another could take it there itself.
      agent: pin === undefined ? false : (pinnedAgent(pin) as Agent),
      signal: timeoutSignal(world, dialMs),
    });
    request.on("upgrade", (response: IncomingMessage, socket: Socket, head: Buffer) => {
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true).setKeepAlive(true, ALIVE_PROBE_MS).setTimeout(0);
      resolve({ socket, proof: response.headers[PROOF_HEADER] });
    });
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part.slice(0, 1_024)));
      response.on("close", () => resolve(refusalIn(response, text)));
    });
    request.on("error", reject);
    request.end();
  });
}

function refusalIn({ headers, statusCode }: IncomingMessage, text: string): Answer {
  const hubTime = Number(headers[TIME_HEADER]);
  const problem = /"code":"([a-z-]{1,32})"/.exec(text)?.[1] ?? `status ${statusCode}`;
  return Number.isSafeInteger(hubTime) && hubTime > 0 ? { problem, hubTime } : { problem };
}

/** Nothing listens there, or what listened was ended while it was dialled. */
function isRefusal({ code }: NodeJS.ErrnoException): boolean {
  return code === "ECONNREFUSED" || code === "ECONNRESET" || code === "EPIPE";
}
