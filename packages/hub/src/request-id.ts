import { randomFillSync } from "node:crypto";

const bytesPerId = 12;

/** `req_` and 24 hex digits. Random bytes are drawn for many ids at once, since drawing costs more than printing. */
export function createRequestIds(): () => string {
  const pool = Buffer.alloc(bytesPerId * 256);
  let used = pool.length;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += bytesPerId;
    return `req_${pool.toString("hex", used - bytesPerId, used)}`;
  };
}
