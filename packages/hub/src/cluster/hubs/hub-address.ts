import { createHash, randomBytes } from "node:crypto";

/** Where a hub can be reached, as far as that is configured. */
interface Reachable {
  linkUrl?: string | undefined;
  advertiseUrl?: string | undefined;
}

/** Of the place where a hub can be reached: the same after a restart. */
export function hubIdOf({ linkUrl, advertiseUrl }: Reachable): string {
  const place = linkUrl ?? advertiseUrl;
  if (place === undefined) return randomBytes(8).toString("hex");
  return createHash("sha256").update(place).digest("hex").slice(0, 16);
}
