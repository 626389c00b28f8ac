import type { ModelContext } from "@roomhub/protocol";
import type { Participant } from "./participant.ts";

/** Called after a change of what a participant's context follows from: the smaller of declared and reported. Contract §3. */
export function updateContext(participant: Participant): void {
  const { learned, declaredContext } = participant;
  learned.context = contextOf(learned.facts.context, declaredContext);
  const { tokens, from } = learned.context ?? unknown;
  learned.usableTokens = from === "trained" ? Number.POSITIVE_INFINITY : tokens;
}

const unknown = { tokens: Number.POSITIVE_INFINITY, from: "trained" } as const;

/** A model server may load less than the model was trained for: that figure yields to any other. */
function contextOf(
  reported: ModelContext | undefined,
  declared: number | undefined,
): ModelContext | undefined {
  if (declared === undefined) return reported;
  const counts = reported === undefined || reported.from === "trained";
  if (!counts && reported.tokens <= declared) return reported;
  return { ...reported, tokens: declared, from: "declared" };
}
