import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Claim, PROOF_HEADER, type ProofCheck, type ProofProblem } from "./proof.ts";

export const HOP_PROTOCOL = "roomhub-hop";
/** A connection on which nothing passes is looked at after it. */
export const ALIVE_PROBE_MS = 5_000;
/** What a refused dialler may go by: this hub's clock, epoch ms. */
export const TIME_HEADER = "x-roomhub-time";

/**
 * Completes the handshake of another hub. What proves nothing is refused with its handshake, and keeps nothing here.
 *
 * @returns what it proves of a connection, on which the other hub speaks first; undefined when it was refused
 */
export function acceptHop(
  check: ProofCheck,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Claim | undefined {
  const claim = check.check(request.headers[PROOF_HEADER]);
  if (typeof claim === "string") {
    socket.once("finish", () => socket.destroy());
    socket.end(refusal(claim, check.wallMs()));
    return undefined;
  }
  // The other hub's computer may fall silent.
  if (socket instanceof Socket) socket.setKeepAlive(true, ALIVE_PROBE_MS);
  socket.write(acceptance(check.acceptanceOf(claim)));
  if (head.length > 0) socket.unshift(head);
  return claim;
}

function acceptance(proof: string): string {
  return [
    "HTTP/1.1 101 Switching Protocols",
    "connection: Upgrade",
    `upgrade: ${HOP_PROTOCOL}`,
    `${PROOF_HEADER}: ${proof}`,
    "\r\n",
  ].join("\r\n");
}

function refusal(problem: ProofProblem, wallMs: number): string {
  const body = JSON.stringify({ error: { message: refusals[problem], code: problem } });
  return [
    "HTTP/1.1 401 Unauthorized",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `${TIME_HEADER}: ${Math.round(wallMs)}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}

const refusals: Record<ProofProblem, string> = {
  unproven: "Only the other hubs of this hub's cluster may connect here.",
  "wrong-hub": "This connection is meant for another hub, or for an earlier run of this one.",
  "wrong-time": "The clocks of the two hubs differ by more than 5 minutes.",
  repeated: "This handshake was used before.",
};
