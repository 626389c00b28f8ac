import type { World } from "@roomhub/protocol";
import { hash, timingSafeEqual } from "node:crypto";
import { Secret } from "./secret.ts";

const beginning = "rhp_";
const clientKeyBeginning = "rhc_";
const hostTokenBeginning = "rhh_";
const keyBeginning = "rhk_";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface MintedToken {
  /** given to the participant once; the hub forgets it */
  token: Secret;
  /** what the hub keeps: SHA-256 of the token */
  digest: Uint8Array;
}

/** @returns a token of `rhp_` and 32 random bytes in base64url. Contract §3 */
export function mintToken(world: World): MintedToken {
  return mint(world, beginning);
}

/** @returns `rhc_` and 32 random bytes in base64url: shows its owner's requests, and nothing else. Contract §3 */
export function mintClientKey(world: World): MintedToken {
  return mint(world, clientKeyBeginning);
}

/** @returns `rhh_` and 32 random bytes in base64url: shows who created a room. Contract §3 */
export function mintHostToken(world: World): MintedToken {
  return mint(world, hostTokenBeginning);
}

/** @returns `rhk_` and 32 random bytes in base64url: what a key of a room is known by. Contract §9 */
export function mintKey(world: World): MintedToken {
  return mint(world, keyBeginning);
}

function mint(world: World, prefix: string): MintedToken {
  const token = prefix + Buffer.from(world.randomBytes(32)).toString("base64url");
  return { token: new Secret(token), digest: digestOf(token) };
}

/** Whether `token` is the one `digest` was made of; in constant time, and false for a missing one. */
export function matchesToken(token: string | undefined, digest: Uint8Array): boolean {
  return token !== undefined && isSameDigest(digestOf(token), digest);
}

/** In constant time. */
export function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

/** What a request carries to prove itself to the hub; each right or wrong. */
export interface Credentials {
  /**
   * `rhp_…` in `authorization: Bearer` or `x-participant-token`. Contract §3.
   *
   * Only values that begin with `rhp_` are judged; any other Authorization is an unrelated API key. A malformed `rhp_…`
   * is kept too, to be refused as wrong rather than taken for missing.
   */
  token: string | undefined;
  /** `rhh_…` in `authorization: Bearer` or `x-host-token`. Contract §3, "Aliases" */
  hostToken: string | undefined;
  /** `rhk_…` in `authorization: Bearer`, `x-api-key` or `api-key`; more than one only when they differ. Contract §9 */
  keys: readonly string[];
}

export function credentialsFrom(headers: Headers): Credentials {
  return {
    token: credentialFrom(headers, "x-participant-token", beginning),
    hostToken: credentialFrom(headers, "x-host-token", hostTokenBeginning),
    keys: keysFrom(headers),
  };
}

/** Whether a request carries the operator's secret, in `x-roomhub-admin`. Contract §9. */
export function isOperator(headers: Headers, secretDigest: Uint8Array | undefined): boolean {
  if (secretDigest === undefined) return false;
  return matchesToken(single(headers["x-roomhub-admin"]), secretDigest);
}

function keysFrom(headers: Headers): string[] {
  const presented = [
    bearerOf(headers),
    single(headers["x-api-key"]),
    single(headers["api-key"]),
  ].filter((value) => value?.startsWith(keyBeginning) === true);
  return [...new Set(presented)] as string[];
}

function credentialFrom(headers: Headers, header: string, prefix: string): string | undefined {
  const direct = single(headers[header]);
  if (direct?.startsWith(prefix) === true) return direct;
  const bearer = bearerOf(headers);
  return bearer?.startsWith(prefix) === true ? bearer : undefined;
}

function bearerOf(headers: Headers): string | undefined {
  return /^bearer +(\S+)$/i.exec(single(headers["authorization"]) ?? "")?.[1];
}

function single(value: string | string[] | undefined): string | undefined {
  return (Array.isArray(value) ? value[0] : value)?.trim();
}

/** What the hub keeps in place of a secret: its SHA-256. */
export function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
