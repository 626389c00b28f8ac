import { type Bar, type Demand, isPermitted, mostBytesPerToken } from "./demand.ts";
import { capabilityOf, type Participant } from "../participant.ts";
import type { SelectionQuery } from "../selection-query.ts";

/** Whether a participant has what the request needs, whether it can be reached or not. */
export function canServe(one: Participant, query: SelectionQuery): boolean {
  const { protocol, excluded, demand, bar } = query;
  return (
    capabilityOf(one, protocol) !== "unsupported" &&
    (excluded.length === 0 || !excluded.includes(one)) &&
    isPermitted(one, demand) &&
    hasRequired(one, demand) &&
    (bar === undefined || clears(one, demand, bar)) &&
    (bar?.isKnown !== true || capabilityOf(one, protocol) === "supported")
  );
}

/** Whether it is known to have every feature that the sender requires. */
export function hasRequired({ learned }: Participant, { requires }: Demand): boolean {
  return (requires & ~learned.abilities[3]) === 0;
}

function clears(one: Participant, demand: Demand, { tokens, level }: Bar): boolean {
  return (demand.uses & ~one.learned.abilities[level]) === 0 && tokensFor(one, demand) >= tokens;
}

/** The tokens that a prompt may have there; infinite when that is not known. */
export function tokensFor({ learned }: Participant, { outputTokens }: Demand): number {
  const { usableTokens, context } = learned;
  return context?.countsMaxTokens === true ? usableTokens - outputTokens : usableTokens;
}

/** By the prompts that its model has read; 0 when none was counted. */
export function expectedTokens({ learned }: Participant, { mostTokens }: Demand): number {
  const { bytesPerToken } = learned;
  return bytesPerToken === undefined ? 0 : (mostTokens * mostBytesPerToken) / bytesPerToken;
}

/** Whether its model server may cut the prompt without saying so. Contract §3, "Context". */
export function mayTruncate(one: Participant, demand: Demand): boolean {
  if (one.learned.context?.mayTruncate !== true) return false;
  const tokens = tokensFor(one, demand);
  if (expectedTokens(one, demand) > tokens) return true;
  return demand.mostTokens > tokens && demand.leastTokens() > tokens;
}
