import type { ClientIdentity } from "./client-identity.ts";

/**
 * A client as one word, the same for the same person: `alice`, `key:5f0c1a2b`, and with a user `key:5f0c1a2b/bob`.
 * Separate from the schema, so that pages do not load that.
 *
 * @returns undefined for a client that reveals nothing, and for undefined, which events of an older hub have
 */
export function clientText(client: ClientIdentity | undefined): string | undefined {
  if (client === undefined) return undefined;
  const { kind, id, user } = client;
  const base = kind === "key" ? `key:${id}` : id;
  if (user !== undefined) return `${base}/${user}`;
  return base === "" ? undefined : base;
}
