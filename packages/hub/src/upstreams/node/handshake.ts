import { CLOSE_CODES } from "@roomhub/tunnel";
import { createHmac, timingSafeEqual } from "node:crypto";
import type { HubIdentity } from "../../domain/participant.ts";

/** A hub as it greets another. */
export interface LinkedHub extends HubIdentity {
  /** of its package */
  readonly version: string;
}

/** The dialler asks on a link, the acceptor responds. */
type LinkSide = "dialler" | "acceptor";

export interface HandshakeOptions {
  side: LinkSide;
  own: LinkedHub;
  /** at least 32 bytes, the same at all hubs of the cluster; never sent */
  secret: Uint8Array;
  /** 32 random bytes, for this link alone */
  nonce: Uint8Array;
  /** the hub that was dialled; undefined for the acceptor, which takes any that knows the secret */
  expectedHubId: string | undefined;
}

/** What follows from a message of the other hub. */
export type HandshakeStep =
  | { kind: "continue"; send: Buffer | undefined }
  /** It knows the secret. `send` goes first. */
  | { kind: "proven"; peer: LinkedHub; send: Buffer | undefined }
  | { kind: "failed"; closeCode: number; reason: string };

/** Why a link closes before its HELLO. Beside these: 4002 for a malformed message, 4003 for another version. */
export const LINK_CLOSE_CODES = {
  /** The proof does not match: the secrets differ. */
  unproven: 4010,
  /** The other end is this hub, or not the one that was dialled. */
  wrongHub: 4011,
} as const;

const linkVersion = 1;
const nonceBytes = 32;
const maxGreetingBytes = 1_024;
const hubIdForm = /^[0-9a-f]{16}$/;
const bootIdForm = /^[0-9a-f]{8}$/;
const versionForm = /^(\d+)\.\d+\.\d+[0-9A-Za-z.+-]{0,64}$/;

interface Greeting extends LinkedHub {
  nonce: Buffer;
}

/**
 * Proves to two hubs that both know the cluster's secret, which is never sent. Both greet with a nonce, the dialler proves
 * first, then the acceptor. A proof is bound to the side, both hubs, both runs and both nonces, so that neither its
 * reflection nor its repetition is one.
 *
 * ```
 * dialler  ── greeting ──►  ◄── greeting ──  acceptor
 * dialler  ── HMAC-SHA-256(secret, roomhub-link-v1|dialler|ids|boots|nonces) ──►  acceptor
 * dialler  ◄── HMAC-SHA-256(secret, roomhub-link-v1|acceptor|ids|boots|nonces) ──  acceptor
 * ```
 */
export class LinkHandshake {
  /** The first message of this side. */
  readonly greeting: Buffer;
  readonly #options: HandshakeOptions;
  #peer: Greeting | undefined;
  #isOver = false;

  constructor(options: HandshakeOptions) {
    const { own, nonce } = options;
    const { hubId, bootId, version } = own;
    this.#options = options;
    this.greeting = Buffer.from(
      JSON.stringify({
        link: linkVersion,
        hubId,
        bootId,
        version,
        nonce: Buffer.from(nonce).toString("base64url"),
      }),
    );
  }

  /** The greeting of the other hub, then its proof. Not after the end. */
  receive(message: Buffer): HandshakeStep {
    if (this.#isOver) return this.#fail(CLOSE_CODES.protocolError, "a message after the proof");
    return this.#peer === undefined ? this.#greeted(message) : this.#proven(message, this.#peer);
  }

  #greeted(message: Buffer): HandshakeStep {
    const fields = readObject(message);
    if (fields === undefined) return this.#fail(CLOSE_CODES.protocolError, "malformed greeting");
    if (fields["link"] !== linkVersion || majorOf(fields["version"]) !== majorOf(this.#version)) {
      const theirs = `version ${shown(fields["version"])}, link ${shown(fields["link"])}`;
      return this.#fail(
        CLOSE_CODES.unsupportedVersion,
        `the hub is of ${theirs}; this one of version ${this.#version}, link ${linkVersion}`,
      );
    }
    const peer = greetingIn(fields);
    if (peer === undefined) return this.#fail(CLOSE_CODES.protocolError, "malformed greeting");
    const { own, nonce, expectedHubId, side } = this.#options;
    if (peer.hubId === own.hubId || peer.nonce.equals(nonce)) {
      return this.#fail(LINK_CLOSE_CODES.wrongHub, "a hub does not link to itself");
    }
    if (expectedHubId !== undefined && peer.hubId !== expectedHubId) {
      return this.#fail(LINK_CLOSE_CODES.wrongHub, `another hub is there: ${peer.hubId}`);
    }
    this.#peer = peer;
    return { kind: "continue", send: side === "dialler" ? this.#ownProof(peer) : undefined };
  }

  #proven(message: Buffer, peer: Greeting): HandshakeStep {
    const { side, own, secret, nonce } = this.#options;
    const expected = proof(secret, side === "dialler" ? "acceptor" : "dialler", peer, {
      ...own,
      nonce,
    });
    if (message.length !== expected.length || !timingSafeEqual(message, expected)) {
      return this.#fail(LINK_CLOSE_CODES.unproven, "the hubs do not have the same cluster secret");
    }
    this.#isOver = true;
    const { hubId, bootId, version } = peer;
    const send = side === "acceptor" ? this.#ownProof(peer) : undefined;
    return { kind: "proven", peer: { hubId, bootId, version }, send };
  }

  get #version(): string {
    return this.#options.own.version;
  }

  #ownProof(peer: Greeting): Buffer {
    const { side, own, secret, nonce } = this.#options;
    return proof(secret, side, { ...own, nonce }, peer);
  }

  #fail(closeCode: number, reason: string): HandshakeStep {
    this.#isOver = true;
    return { kind: "failed", closeCode, reason };
  }
}

type Prover = HubIdentity & { nonce: Uint8Array };

/** @param prover - the hub whose proof this is; `verifier` is the other one */
function proof(secret: Uint8Array, side: LinkSide, prover: Prover, verifier: Prover): Buffer {
  const parts = ["roomhub-link-v1", side, prover.hubId, verifier.hubId];
  parts.push(prover.bootId, verifier.bootId, hex(prover.nonce), hex(verifier.nonce));
  return createHmac("sha256", secret).update(parts.join("|")).digest();
}

function greetingIn(fields: Record<string, unknown>): Greeting | undefined {
  const { hubId, bootId, version, nonce } = fields;
  if (typeof hubId !== "string" || !hubIdForm.test(hubId)) return undefined;
  if (typeof bootId !== "string" || !bootIdForm.test(bootId)) return undefined;
  if (typeof version !== "string" || typeof nonce !== "string") return undefined;
  const bytes = Buffer.from(nonce, "base64url");
  return bytes.length === nonceBytes ? { hubId, bootId, version, nonce: bytes } : undefined;
}

function readObject(message: Buffer): Record<string, unknown> | undefined {
  if (message.length > maxGreetingBytes) return undefined;
  try {
    const value: unknown = JSON.parse(message.toString("utf8"));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // the caller closes the link
  }
}

function majorOf(version: unknown): string | undefined {
  return typeof version === "string" ? versionForm.exec(version)?.[1] : undefined;
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "none").slice(0, 40);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
