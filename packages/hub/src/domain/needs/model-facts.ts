import type { Features, MeasuredFeatures, ModelContext } from "@roomhub/protocol";
import { abilitiesOf, unknownAbilities } from "./abilities.ts";
import type { Participant } from "../participant.ts";

/** Called after a change of what is reported, declared, measured or learned of a participant's model. */
export function updateFacts(participant: Participant): void {
  const { learned, declaredContext } = participant;
  const { usableTokens, abilities } = learned;
  const { context } = learned.facts;
  learned.context = smaller(
    smaller(context, declaredContext, "declared"),
    learned.refused?.tokens,
    "learned",
  );
  const { tokens, from } = learned.context ?? unknown;
  learned.usableTokens = from === "trained" ? Number.POSITIVE_INFINITY : tokens;
  learned.features = refined(learned.facts.features, learned.measured);
  learned.abilities =
    learned.features === undefined ? unknownAbilities : abilitiesOf(learned.features);
  const hasOther = learned.abilities.some((bits, level) => bits !== abilities[level]);
  if (hasOther || learned.usableTokens !== usableTokens) learned.index?.invalidate();
}

/** What requests have shown counts more than what is reported of the model, or of its program. */
function refined(
  reported: Features | undefined,
  measured: MeasuredFeatures | undefined,
): Features | undefined {
  if (measured === undefined) return reported;
  const { structuredOutput = "unknown" } = reported ?? {};
  const isEnforced = structuredOutput === "enforced" && measured.structuredOutput !== "ignored";
  return {
    ...{ tools: "unknown", vision: "unknown", reasoning: "unknown", logprobs: "unknown" },
    ...reported,
    ...measured,
    structuredOutput: isEnforced ? "enforced" : (measured.structuredOutput ?? structuredOutput),
  };
}

/** Its model server may be another one now, or serve another model. */
export function forgetMeasured(participant: Participant): void {
  if (participant.learned.measured === undefined) return;
  participant.learned.measured = undefined;
  updateFacts(participant);
}

const unknown = { tokens: Number.POSITIVE_INFINITY, from: "trained" } as const;

/** A model server may load less than the model was trained for: that figure yields to any other. */
function smaller(
  known: ModelContext | undefined,
  tokens: number | undefined,
  from: "declared" | "learned",
): ModelContext | undefined {
  if (tokens === undefined) return known;
  const counts = known !== undefined && known.from !== "trained";
  return counts && known.tokens <= tokens ? known : { ...known, tokens, from };
}

/** A model server may be restarted with a larger context unnoticed. */
const refusedForMs = 10 * 60_000;

/**
 * An error of its model server named its context. Contract §3: a longer success, a new registration, another model,
 * another report and 10 minutes end that.
 */
export function noteRefusedContext(participant: Participant, tokens: number, nowMs: number): void {
  const { learned } = participant;
  learned.refused = { tokens, untilMs: nowMs + refusedForMs };
  updateFacts(participant);
}

/** Its model server has read a prompt of so many tokens. */
export function noteReadTokens(participant: Participant, tokens: number): void {
  const { refused } = participant.learned;
  if (refused !== undefined && tokens > refused.tokens) forgetRefused(participant);
}

const leastMeasuredBytes = 1_024;
/** Of what was measured before, when more is measured. */
const keptShare = 0.7;

/** A prompt with so many bytes of text had so many tokens. */
export function noteTokens({ learned }: Participant, textBytes: number, tokens: number): void {
  if (textBytes < leastMeasuredBytes || tokens === 0) return;
  const measured = textBytes / tokens;
  const known = learned.bytesPerToken ?? measured;
  learned.bytesPerToken = keptShare * known + (1 - keptShare) * measured;
}

/** Ends what an error has shown, when it is old. */
export function expireRefused(participant: Participant, nowMs: number): void {
  const { refused } = participant.learned;
  if (refused !== undefined && refused.untilMs <= nowMs) forgetRefused(participant);
}

function forgetRefused(participant: Participant): void {
  participant.learned.refused = undefined;
  updateFacts(participant);
}
