import { createHash } from "node:crypto";
import type { RequestHead } from "@roomhub/tunnel";

/** Who a request counts for: a name within an address. Digests, so that the ledger contains neither. */
export interface Person {
  /** 8 hex digits */
  address: string;
  /** 12 hex digits, unique across addresses */
  id: string;
}

/** The person behind a request. Names are claims, so they only separate persons of one address; a hub that reports none has one person. */
export function personOf({ client, address = "" }: RequestHead): Person {
  const { kind = "none", id = "", user = "" } = client ?? {};
  return {
    address: digest([address], 8),
    id: digest([address, kind, id, user], 12),
  };
}

function digest(parts: readonly string[], length: number): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, length);
}
