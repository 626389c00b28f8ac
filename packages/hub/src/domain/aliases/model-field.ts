import {
  parseSelector,
  type Selector,
  type Selection,
  type SelectionQuery,
} from "../selection-query.ts";
import type { Room } from "../room.ts";
import { selectParticipant } from "../selector.ts";

/** What the `model` field of a request means in a room now. */
export interface ModelField {
  /** the pattern of the alias that it matches; undefined when it matches none */
  readonly alias: string | undefined;
  /** what it selects; with an alias, its targets in the order in which they are tried */
  readonly targets: readonly [Selector, ...Selector[]];
}

/** Contract §3, "Aliases": an id or a model of the room comes before every alias, also while its participant is offline. */
export function readModelField(room: Room, text: string): ModelField {
  const selector = parseSelector(text);
  const isName = room.aliases.size > 0 && selector.kind === "name" && !isKnown(room, text);
  const alias = isName ? room.aliases.match(text) : undefined;
  if (alias === undefined) return { alias: undefined, targets: [selector] };
  const [first = selector, ...others] = alias.targets.map(parseSelector);
  return { alias: alias.pattern, targets: [first, ...others] };
}

/** Whether a participant has this id, or serves a model of this name. */
function isKnown({ participants, placing }: Room, name: string): boolean {
  if (participants.has(name)) return true;
  return placing.serving.serving(name, participants.values()).participants.length > 0;
}

type Refused = Extract<Selection, { kind: "refused" }>;

/** Where a request goes, and through which of its targets. */
interface TargetSelection {
  selection: Selection;
  /** the index of the target that takes it; of the last one when it is refused */
  place: number;
}

/**
 * The first target with a participant that can take the request, now or once it has a slot; one whose model is known to be
 * unable only when there is no other. Contract §3, "Aliases".
 *
 * @param from - index of the first target that is tried
 * @param queryFor - the query with a target as its selector; see {@link SelectionQuery.isStrict}
 */
export function selectTarget(
  room: Room,
  field: ModelField,
  from: number,
  queryFor: (target: Selector, isStrict: boolean) => SelectionQuery,
): TargetSelection {
  const { targets, alias } = field;
  const refusals: Refused[] = [];
  for (const isStrict of alias === undefined ? [false] : [true, false]) {
    refusals.length = 0;
    for (let place = from; place < targets.length; place++) {
      const query = queryFor(targets[place] ?? targets[0], isStrict);
      const selection = selectParticipant(room, query);
      if (selection.kind !== "refused") return { selection, place };
      refusals.push(selection);
    }
  }
  return { selection: refusalOf(room, field, refusals), place: targets.length - 1 };
}

/** The first refusal that is about a participant; `model_not_found` says least. */
function refusalOf(room: Room, { alias, targets }: ModelField, refusals: Refused[]): Refused {
  const [first] = refusals;
  if (first === undefined) throw new Error("a model field has at least one target");
  if (alias === undefined || room.participants.size === 0) return first;
  const shown = JSON.stringify(alias);
  const known = refusals.find(({ code }) => code !== "model_not_found");
  if (known !== undefined) return { ...known, message: `Alias ${shown}: ${known.message}` };
  const names = targets.map(selectorText);
  const listed = names.slice(0, 3).join(", ") + (names.length > 3 ? " and others" : "");
  return {
    ...first,
    message: `Alias ${shown}: no participant in room ${room.code} has the id or serves the model of a target (${listed}).`,
    hint: `Change the alias: roomhub alias ${room.code}. The names: roomhub models ${room.code}`,
  };
}

/** A selector as it is written. */
export function selectorText(selector: Selector): string {
  switch (selector.kind) {
    case "any":
      return "*";
    case "model":
      return `model:${selector.model}`;
    case "name":
      return selector.name;
  }
}
