import { editDistance, withoutLatest } from "@roomhub/protocol";
import type { Room } from "./room.ts";

/** Typed names are not longer, and longer names differ earlier. */
const comparedLength = 100;

/**
 * The name that was probably meant: it differs in at most a third of its letters, or contains the typed text. Undefined
 * when no name is near.
 */
export function closest(unknownName: string, names: readonly string[]): string | undefined {
  const typed = compared(unknownName);
  const row = new Uint16Array(comparedLength + 1);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const name of new Set(names)) {
    const distance = editDistance(typed, compared(name), bestDistance, row);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best ?? names.find((name) => typed.length > 2 && name.toLowerCase().includes(typed));
}

function compared(name: string): string {
  // Cut first, because it may be as long as a body, and again, because lower case may be longer.
  return name.slice(0, comparedLength).toLowerCase().slice(0, comparedLength);
}

/** Names that programs request by default, and the pattern that matches all names of their kind. */
const clientDefaults: readonly [RegExp, (name: string) => string][] = [
  [/^claude-/, () => "claude-*"],
  [/^gpt-/, () => "gpt-*"],
  [/^o\d+(?:-|$)/, (name) => `${name.split("-", 1)[0]}*`],
];

/** Harmless in a shell without quotes. */
const plainName = /^[A-Za-z0-9][\w./:@+-]{0,127}$/;

/**
 * The command that would serve a program's own default name with the one model that a room has; undefined for other names,
 * and for rooms with another number of models.
 */
export function aliasCommand({ code, participants }: Room, name: string): string | undefined {
  const models = new Set([...participants.values()].map(({ model }) => withoutLatest(model)));
  const [model] = models;
  if (models.size !== 1 || model === undefined) return undefined;
  const known = clientDefaults.find(([form]) => form.test(name));
  if (known === undefined) return undefined;
  const target = plainName.test(model) ? model : "'*'";
  return `roomhub alias ${code} '${known[1](name)}' ${target}`;
}
