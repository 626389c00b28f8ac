import { z } from "zod";

/**
 * Who sends a request, as far as its API key and a user's name reveal it. Contract §3, "Names": a claim, not proof.
 *
 * `id` is a name (`alice` for the key `as-alice`), the fingerprint of any other key, or "" without one. `holder`: the name
 * of the room's key that it was sent with, which is proof. Contract §9.
 */
export const ClientIdentity = z.object({
  kind: z.enum(["name", "key", "none", "holder"]),
  id: z.string(),
  /** the person that a client with many users names: as named, or a fingerprint */
  user: z.string().optional(),
});
export type ClientIdentity = Readonly<z.infer<typeof ClientIdentity>>;

/** The beginning of a key that is a name. */
export const NAME_KEY_PREFIX = "as-";

const clientName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;

/** Up to 32 letters, digits, `.`, `_` and `-`, beginning with a letter or digit. */
export function isClientName(text: string): boolean {
  return clientName.test(text);
}
