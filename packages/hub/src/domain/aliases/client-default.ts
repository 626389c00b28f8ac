import { withoutLatest } from "@roomhub/protocol";
import type { Room } from "../room.ts";

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
