import type { Load } from "@roomhub/protocol";

/** Running requests and their limit, for a column: `1/2`, or `1/2 +1` with a slot busy elsewhere. */
export function loadColumn(load: Load): string {
  const { active, limit, elsewhere = 0 } = load;
  const machine = fullMachine(load);
  const shared = machine === undefined ? "" : `, machine ${machine.active}/${machine.limit}`;
  return `${active}/${limit}${elsewhere === 0 ? "" : ` +${elsewhere}`}${shared}`;
}

/** The same for a sentence, naming the model server when it sets the limit. */
export function loadSentence(load: Load): string {
  const { active, limit, limitFrom, elsewhere = 0 } = load;
  const slots = limitFrom === "engine" ? " slots of its model server" : "";
  const others = elsewhere === 0 ? "" : `, ${elsewhere} busy with something else`;
  const machine = fullMachine(load);
  const shared =
    machine === undefined ? "" : `, ${machine.active}/${machine.limit} slots of its machine taken`;
  return `${active}/${limit}${slots} running${others}${shared}`;
}

/** The machine, if its other participants have taken all of its slots. */
function fullMachine({ active, limit, machine }: Load): Load["machine"] {
  if (active >= limit || machine === undefined) return undefined;
  return machine.active >= machine.limit ? machine : undefined;
}
