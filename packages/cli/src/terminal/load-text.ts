import type { Load } from "@roomhub/protocol";

/** Running requests and their limit, for a column: `1/2`, or `1/2 +1` with a slot busy elsewhere. */
export function loadColumn({ active, limit, elsewhere = 0 }: Load): string {
  return `${active}/${limit}${elsewhere === 0 ? "" : ` +${elsewhere}`}`;
}

/** The same for a sentence, naming the model server when it sets the limit. */
export function loadSentence({ active, limit, limitFrom, elsewhere = 0 }: Load): string {
  const slots = limitFrom === "engine" ? " slots of its model server" : "";
  const others = elsewhere === 0 ? "" : `, ${elsewhere} busy with something else`;
  return `${active}/${limit}${slots} running${others}`;
}
