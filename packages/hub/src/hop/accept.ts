import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HubIdentity } from "../domain/hub-identity.ts";
import {
  type Claim,
  type HopKind,
  PROOF_HEADER,
  ProofCheck,
  proofOfAcceptance,
  type ProofProblem,
} from "./proof.ts";

export const HOP_PROTOCOL = "roomhub-hop";
/** A connection on which nothing passes is looked at after it. */
export const ALIVE_PROBE_MS = 5_000;
/** What a refused dialler may go by: this hub's clock, epoch ms. */
export const TIME_HEADER = "x-roomhub-time";

export interface HopAcceptorOptions {
  self: HubIdentity;
  /** at least 32 bytes, the same at all hubs of the cluster; never sent */
  secret: Uint8Array;
  /** epoch ms */
  wallMs: () => number;
  /** A proven connection of another hub, which speaks first. */
  onSocket: (socket: Duplex, kind: HopKind, peer: HubIdentity) => void;
}

/** Takes the connections of other hubs. What proves nothing is refused with its handshake, and keeps nothing here. */
export class HopAcceptor {
  readonly #options: HopAcceptorOptions;
  readonly #check: ProofCheck;

  constructor(options: HopAcceptorOptions) {
    this.#options = options;
    this.#check = new ProofCheck(options.self, options.secret, options.wallMs);
  }

  /** Completes the handshake, or refuses it. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const claim = this.#check.check(request.headers[PROOF_HEADER]);
    if (typeof claim === "string") {
      socket.once("finish", () => socket.destroy());
      socket.end(this.#refusal(claim));
      return;
    }
    // The other hub's computer may fall silent.
    if (socket instanceof Socket) socket.setKeepAlive(true, ALIVE_PROBE_MS);
    socket.write(this.#response(claim));
    if (head.length > 0) socket.unshift(head);
    this.#options.onSocket(socket, claim.kind, claim.from);
  }

  #response(claim: Claim): string {
    return [
      "HTTP/1.1 101 Switching Protocols",
      "connection: Upgrade",
      `upgrade: ${HOP_PROTOCOL}`,
      `${PROOF_HEADER}: ${proofOfAcceptance(claim, this.#options.secret)}`,
      "\r\n",
    ].join("\r\n");
  }

  #refusal(problem: ProofProblem): string {
    const body = JSON.stringify({ error: { message: refusals[problem], code: problem } });
    return [
      "HTTP/1.1 401 Unauthorized",
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      `${TIME_HEADER}: ${Math.round(this.#options.wallMs())}`,
      "connection: close",
      "",
      body,
    ].join("\r\n");
  }
}

const refusals: Record<ProofProblem, string> = {
  unproven: "Only the other hubs of this hub's cluster may connect here.",
  "wrong-hub": "This connection is meant for another hub, or for an earlier run of this one.",
  "wrong-time": "The clocks of the two hubs differ by more than 5 minutes.",
  repeated: "This handshake was used before.",
};
