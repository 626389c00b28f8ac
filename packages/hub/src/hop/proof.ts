import { createHmac, timingSafeEqual } from "node:crypto";
import type { HubIdentity } from "../domain/hub-identity.ts";

/** What a connection between two hubs is for. */
export type HopKind = "requests" | "control";

/** The header of a handshake, and of its response. */
export const PROOF_HEADER = "x-roomhub-proof";

/** What a dialler claims, and proves with the cluster's secret. */
export interface Claim {
  kind: HopKind;
  from: HubIdentity;
  to: HubIdentity;
  /** epoch ms, by the dialler's clock */
  sentAt: number;
  /** 32 hex digits, never used again */
  nonce: string;
}

/** Why a claim is not believed. */
export type ProofProblem = "unproven" | "wrong-hub" | "wrong-time" | "repeated";

const claimForm =
  /^v1 (requests|control) ([0-9a-f]{16}) ([0-9a-f]{8}) ([0-9a-f]{16}) ([0-9a-f]{8}) (\d{1,15}) ([0-9a-f]{32}) ([0-9a-f]{64})$/;
/** Clocks of hubs may differ by so much. */
const toleranceMs = 5 * 60_000;
/** Longer than a claim can be valid. */
const nonceKeptMs = 2 * toleranceMs;

/** One header, so that a connection that proves nothing holds nothing. */
export function proofOf(claim: Claim, secret: Uint8Array): string {
  const text = textOf(claim);
  return `${text} ${sign(secret, text)}`;
}

/** The accepting hub knows the secret, too. */
export function proofOfAcceptance(claim: Claim, secret: Uint8Array): string {
  return sign(secret, `accepted ${textOf(claim)}`);
}

export function isAcceptance(claim: Claim, secret: Uint8Array, header: unknown): boolean {
  return typeof header === "string" && isEqual(header, proofOfAcceptance(claim, secret));
}

function textOf({ kind, from, to, sentAt, nonce }: Claim): string {
  return `v1 ${kind} ${from.hubId} ${from.bootId} ${to.hubId} ${to.bootId} ${sentAt} ${nonce}`;
}

function sign(secret: Uint8Array, text: string): string {
  return createHmac("sha256", secret).update(`roomhub-hop ${text}`).digest("hex");
}

function isEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** Checks the claims of hubs that dial this one. A claim is bound to this process, and believed once. */
export class ProofCheck {
  readonly #self: HubIdentity;
  readonly #secret: Uint8Array;
  /** epoch ms */
  readonly wallMs: () => number;
  /** with the time until which each is refused, in the order in which they came */
  readonly #nonces = new Map<string, number>();

  constructor(self: HubIdentity, secret: Uint8Array, wallMs: () => number) {
    this.#self = self;
    this.#secret = secret;
    this.wallMs = wallMs;
  }

  check(header: string | string[] | undefined): Claim | ProofProblem {
    const match = claimForm.exec(typeof header === "string" ? header : "");
    if (match === null) return "unproven";
    const [, kind, fromHub, fromBoot, toHub, toBoot, time, nonce, proof] =
      match as unknown as string[];
    const claim = {
      kind: kind as HopKind,
      from: { hubId: fromHub ?? "", bootId: fromBoot ?? "" },
      to: { hubId: toHub ?? "", bootId: toBoot ?? "" },
      ...{ sentAt: Number(time), nonce: nonce ?? "" },
    };
    if (!isEqual(proof ?? "", sign(this.#secret, textOf(claim)))) return "unproven";
    const { hubId, bootId } = this.#self;
    if (claim.to.hubId !== hubId || claim.to.bootId !== bootId) return "wrong-hub";
    const nowMs = this.wallMs();
    if (Math.abs(nowMs - claim.sentAt) > toleranceMs) return "wrong-time";
    if (this.#isKnown(claim.nonce, nowMs)) return "repeated";
    return claim;
  }

  /** This hub knows the secret, too. */
  acceptanceOf(claim: Claim): string {
    return proofOfAcceptance(claim, this.#secret);
  }

  #isKnown(nonce: string, nowMs: number): boolean {
    for (const [old, untilMs] of this.#nonces) {
      if (untilMs > nowMs) break;
      this.#nonces.delete(old);
    }
    if (this.#nonces.has(nonce)) return true;
    this.#nonces.set(nonce, nowMs + nonceKeptMs);
    return false;
  }
}
