import type { World } from "@roomhub/protocol";
import { hash, timingSafeEqual } from "node:crypto";
import { Secret } from "./secret.ts";

const beginning = "rhp_";
const clientKeyBeginning = "rhc_";
const hostTokenBeginning = "rhh_";
const tokenForm = /^rhp_[\w-]{43}$/;

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

function mint(world: World, prefix: string): MintedToken {
  const token = prefix + Buffer.from(world.randomBytes(32)).toString("base64url");
  return { token: new Secret(token), digest: digestOf(token) };
}

/** Whether `token` is the one `digest` was made of; in constant time, and false for a missing one. */
export function matchesToken(token: string | undefined, digest: Uint8Array): boolean {
  if (token === undefined || digest.length !== 32) return false;
  return timingSafeEqual(digestOf(token), digest);
}

/** Whether it has the form of a participant token, right or wrong. */
export function looksLikeToken(text: string): boolean {
  return tokenForm.test(text);
}

/**
 * The participant token a request carries, in `authorization: Bearer rhp_…` or `x-participant-token`. Contract §3.
 *
 * Only values that begin with `rhp_` are judged; any other Authorization is an unrelated API key. A malformed `rhp_…` is
 * returned too, to be refused as wrong rather than taken for missing.
 */
export function tokenFrom(headers: Headers): string | undefined {
  return credentialFrom(headers, "x-participant-token", beginning);
}

/** The host token a request carries, in `authorization: Bearer rhh_…` or `x-host-token`. Contract §3, "Aliases". */
export function hostTokenFrom(headers: Headers): string | undefined {
  return credentialFrom(headers, "x-host-token", hostTokenBeginning);
}

function credentialFrom(headers: Headers, header: string, prefix: string): string | undefined {
  const direct = single(headers[header]);
  if (direct?.startsWith(prefix) === true) return direct;
  const authorization = single(headers["authorization"]);
  const bearer = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  return bearer?.startsWith(prefix) === true ? bearer : undefined;
}

function single(value: string | string[] | undefined): string | undefined {
  return (Array.isArray(value) ? value[0] : value)?.trim();
}

/** What the hub keeps in place of a secret: its SHA-256. */
export function digestOf(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
