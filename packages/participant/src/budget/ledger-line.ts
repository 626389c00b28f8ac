import type { LedgerEntry } from "./ledger-sums.ts";

/** Earlier versions wrote who had sent the request before the tokens. */
const spentLine = /^t (?:[0-9a-f]{8} [0-9a-f]{12} )?(\d{1,15})$/;
const startedLine = /^s (\d{1,15}) (\d{1,15}) ([0-9a-z-]{1,40})$/;

/** One entry as a line of the ledger, without its line break. */
export function encodeEntry(entry: LedgerEntry): string {
  if (entry.kind === "spent") return `t ${entry.tokens}`;
  return `s ${entry.atMs} ${entry.limit} ${entry.nonce}`;
}

/** @returns undefined for a line that is damaged: a full disk, or an edit */
export function decodeEntry(line: string): LedgerEntry | undefined {
  const spent = spentLine.exec(line);
  if (spent !== null) return { kind: "spent", tokens: Number(spent[1]) };
  const started = startedLine.exec(line);
  if (started === null) return undefined;
  const [, atMs, limit, nonce = ""] = started;
  return { kind: "started", atMs: Number(atMs), limit: Number(limit), nonce };
}
