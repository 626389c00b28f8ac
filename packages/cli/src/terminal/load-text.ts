import type { Load } from "@roomhub/protocol";

/** Requests running of those that may, for a column: `1/2`, and `1/2 +1` with a slot busy elsewhere. */
export function loadColumn({ active, limit, elsewhere = 0 }: Load): string {
  return `${active}/${limit}${elsewhere === 0 ? "" : ` +${elsewhere}`}`;
}

/** The same in a sentence, with where the limit comes from when that is the model server. */
export function loadSentence({ active, limit, limitFrom, elsewhere = 0 }: Load): string {
  const slots = limitFrom === "engine" ? " slots of its model server" : "";
  const others = elsewhere === 0 ? "" : `, ${elsewhere} busy with something else`;
  return `${active}/${limit}${slots} running${others}`;
}
