import type { Room } from "../room.ts";
import type { Selection, SelectionQuery, Selector } from "../selection-query.ts";
import { selectParticipant } from "../selector.ts";
import type { ModelField } from "./model-field.ts";

type Refused = Extract<Selection, { kind: "refused" }>;

/** Where a request goes, and through which of its targets. */
export interface TargetSelection {
  selection: Selection;
  /** the index of the target that takes it; of the last one when it is refused */
  place: number;
}

/**
 * The first target with a participant that can take the request, now or once it has a slot. Contract §3, "Aliases".
 *
 * @param from - index of the first target that is tried
 * @param queryFor - the query with a target as its selector
 */
export function selectTarget(
  room: Room,
  field: ModelField,
  from: number,
  queryFor: (target: Selector) => SelectionQuery,
): TargetSelection {
  const { targets } = field;
  const refusals: Refused[] = [];
  for (let place = from; place < targets.length; place++) {
    const selection = selectParticipant(room, queryFor(targets[place] ?? targets[0]));
    if (selection.kind !== "refused") return { selection, place };
    refusals.push(selection);
  }
  return { selection: refusalOf(room, field, refusals), place: targets.length - 1 };
}

/** Of several refusals the first that is about a participant; that no participant matches says least. */
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
