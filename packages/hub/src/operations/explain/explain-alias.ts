import type { RouteAlias } from "@roomhub/protocol";
import type { ModelField } from "../../domain/aliases/model-field.ts";
import { selectorText } from "../../domain/aliases/select-target.ts";
import type { Room } from "../../domain/room.ts";
import type { SelectionQuery, Selector } from "../../domain/selection-query.ts";
import { selectParticipant } from "../../domain/selector.ts";

/**
 * Each target of the alias that a `model` field matches, and why it takes the request or does not; nothing without one.
 *
 * @param chosen - the target that the explanation is about
 */
export function explainAlias(
  room: Room,
  { alias: pattern, targets }: ModelField,
  chosen: Selector,
  queryFor: (target: Selector) => SelectionQuery,
): { alias?: RouteAlias } {
  if (pattern === undefined) return {};
  const target = selectorText(chosen);
  const refusals = targets.map((one) => {
    const selection = selectParticipant(room, queryFor(one));
    return selection.kind === "refused" ? selection.message : undefined;
  });
  const taken = refusals.indexOf(undefined);
  const verdictAt = (index: number): Omit<RouteAlias["targets"][number], "target"> => {
    const refusal = refusals[index];
    if (refusal !== undefined) return { verdict: "passed-over", reason: refusal };
    return index === taken
      ? { verdict: "taken", reason: "the first that a participant can serve" }
      : { verdict: "standby", reason: `tried when ${target} cannot serve the request` };
  };
  const verdicts = targets.map((one, index) => ({
    target: selectorText(one),
    ...verdictAt(index),
  }));
  return { alias: { pattern, target, targets: verdicts } };
}
