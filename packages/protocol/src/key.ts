import { z } from "zod";

/** What a key of a room permits: sending requests, sharing models, watching. Contract §9. */
export const KEY_RIGHTS = ["use", "share", "watch"] as const;
export const KeyRight = z.enum(KEY_RIGHTS);
export type KeyRight = z.infer<typeof KeyRight>;

/** The rights of a key that was created without naming any. */
export const USUAL_RIGHTS: readonly KeyRight[] = ["use", "watch"];

/** Whether the text has the form of a key's value: `rhk_` and 32 bytes in base64url. */
export function isKeyValue(text: string): boolean {
  return /^rhk_[\w-]{43}$/.test(text);
}

const longestGraceMs = 30 * 24 * 3_600_000;

/** The query of `POST …/keys/:key/rotate`. */
export const RotateQuestion = z.object({
  /** how long the value before is still valid */
  graceMs: z.coerce.number().int().min(0).max(longestGraceMs).default(0),
});

const longestBanMs = 30 * 24 * 3_600_000;

/** The query of `POST …/participants/:id/kick`. */
export const KickQuestion = z.object({
  /** how long it cannot join again; the minute of the default stops its agent */
  banMs: z.coerce.number().int().min(0).max(longestBanMs).default(60_000),
});

/** A participant that was removed and may not join again yet. */
export const Ban = z.object({
  /** of the participant; it and its machine's model server are banned */
  id: z.string(),
  /** that registered it, and is banned too; absent for the hub's own machine */
  address: z.string().optional(),
  /** epoch ms */
  until: z.number(),
});
export type Ban = z.infer<typeof Ban>;

/** The oldest first, without expired ones. */
export const BansResponse = z.object({ bans: z.array(Ban) });

/** The path of `PUT` and `DELETE …/blocked/:client`. */
export const BlockedClient = z.object({
  /** as it is shown, by its name or the fingerprint of its API key, or its address */
  client: z.string().regex(/^[\w.:-]{1,64}$/, {
    error: "must be the name or fingerprint of a client, or an address",
  }),
});

/** The oldest first, in lower case; of IPv6 addresses the network. */
export const BlockedResponse = z.object({ blocked: z.array(z.string()) });

/** A key of a room, without its value. */
export const Key = z.object({
  id: z.uuid(),
  /** of its holder; unique in the room, whatever the letter case */
  name: z.string(),
  may: z.array(KeyRight),
  /** the models that its holder may use; absent for all */
  models: z.array(z.string()).optional(),
  /** how many inference requests it permits in a minute; absent for any number */
  requestsPerMinute: z.number().optional(),
  /** how many tokens it permits in a day of the hub; absent for any number */
  tokensPerDay: z.number().optional(),
  /** how many of them are spent, without those of requests that run */
  spentToday: z.number().optional(),
  /** epoch ms: the hub's next midnight, from which on they count anew */
  resetAt: z.number().optional(),
  /** epoch ms */
  createdAt: z.number(),
  /** epoch ms; absent for a key that does not expire */
  expiresAt: z.number().optional(),
  /** `YYYY-MM-DD`, the hub's local date; absent for a key that was never used */
  lastSeenDay: z.string().optional(),
  /** epoch ms; absent unless it was revoked */
  revokedAt: z.number().optional(),
});
export type Key = z.infer<typeof Key>;

/** A key with its value, which is in the response that creates or rotates it and nowhere else. */
export const NewKey = Key.extend({
  /** `rhk_` and 32 random bytes in base64url */
  value: z.string(),
});
export type NewKey = z.infer<typeof NewKey>;

export const NewKeyResponse = z.object({ key: NewKey });
export type NewKeyResponse = z.infer<typeof NewKeyResponse>;
export const KeyResponse = z.object({ key: Key });
export type KeyResponse = z.infer<typeof KeyResponse>;
/** The oldest first, including keys that ended within 30 days. */
export const KeyListResponse = z.object({ keys: z.array(Key) });
export type KeyListResponse = z.infer<typeof KeyListResponse>;
