import { parseSelector, type Selector } from "../selection-query.ts";
import type { Room } from "../room.ts";
import { aliasNamed, maxChainLength } from "./alias-chains.ts";
import type { Alias } from "./alias-table.ts";

/** What the `model` field of a request means in a room now. */
export interface ModelField {
  /** the pattern of the alias that it matches; undefined when it matches none */
  readonly alias: string | undefined;
  /** what it selects; with an alias, its targets in the order in which they are tried */
  readonly targets: readonly [Selector, ...Selector[]];
}

/**
 * Contract §3, "Aliases": an id or a model of the room always comes before an alias, also while its participant is
 * offline. Targets that name an alias stand for that alias's targets; each alias counts once, in its first place.
 */
export function readModelField(room: Room, text: string): ModelField {
  const alias = aliasOf(room, text);
  if (alias === undefined) return { alias: undefined, targets: [parseSelector(text)] };
  const targets: Selector[] = [];
  addTargets(room, alias, targets, new Set(), 1);
  const [first = parseSelector(text), ...others] = targets;
  return { alias: alias.pattern, targets: [first, ...others] };
}

function addTargets(
  room: Room,
  alias: Alias,
  targets: Selector[],
  followed: Set<Alias>,
  depth: number,
): void {
  followed.add(alias);
  for (const target of alias.targets) {
    const next = aliasOf(room, target);
    if (next === undefined) targets.push(parseSelector(target));
    else if (!followed.has(next) && depth < maxChainLength) {
      addTargets(room, next, targets, followed, depth + 1);
    }
  }
}

function aliasOf(room: Room, text: string): Alias | undefined {
  if (room.aliases.size === 0) return undefined;
  return isKnown(room, text) ? undefined : aliasNamed(room.aliases, text);
}

/** Whether a participant has this id, or serves a model of this name. */
function isKnown({ participants, placing }: Room, name: string): boolean {
  return participants.has(name) || placing.serving.serving(name, participants.values()).length > 0;
}
