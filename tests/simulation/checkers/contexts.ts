import { hasRoomFor, promptOf } from "../actors/scripted-server.ts";
import type { History } from "../history.ts";
import { mayGoTo, type PlannedAgent, type PlannedRequest } from "../plan.ts";
import { ofLoad } from "./service.ts";

/**
 * With nothing broken, a request whose prompt fits somewhere is served, and one that fits nowhere is refused with the
 * contract's error. Contract §3, "Context" and "Retry".
 */
export function promptsGoWhereTheyFit({ plan, outcomes }: History): string[] {
  if (plan.faults.length > 0) return [];
  return outcomes.flatMap(({ tag, end, status, code }) => {
    const planned = plan.requests.find((one) => one.tag === tag)!;
    const matching = matchingOf(plan.agents, planned);
    const fitting = matching.filter((agent) => hasRoomFor(agent, planned));
    if (code === tooLong) {
      return [
        // One whose budget is used up does not take it.
        ...(fitting.some(({ budget }) => budget === undefined)
          ? [`${tag} was refused as too long, and ${fitting[0]!.name} has the context for it`]
          : []),
        ...(status === 200 || status === 400 ? [] : [`${tag} is too long with status ${status}`]),
      ];
    }
    const isRefused = end === "left" || ofLoad.has(code ?? "") || code === "model_not_found";
    return fitting.length > 0 || matching.length === 0 || isRefused
      ? []
      : [`${tag} fits nowhere and ended with ${code ?? end}`];
  });
}

/**
 * With nothing broken, no model server refuses the same prompt twice, nor one of which it is known to be too long while
 * another one is there that has the context. Contract §3, "What a request needs".
 */
export function contextsCount({ plan, agents }: History): string[] {
  if (plan.faults.length > 0) return [];
  return plan.requests.flatMap((planned) => {
    const { tag, selector } = planned;
    // An eighth of its text, of which repeated characters count once.
    const text = promptOf(planned, planned.promptBytes).replaceAll(/(.)\1+/gs, "$1");
    const leastTokens = Math.floor(text.length / 8);
    const isElsewhere = matchingOf(plan.agents, planned).some(
      (agent) => agent.budget === undefined && hasRoomFor(agent, planned),
    );
    return agents.flatMap(({ id, context, server }) => {
      const count = server.refused.filter((one) => one.tag === tag).length;
      const isKnown = context?.isReported === true && leastTokens > context.tokens;
      return [
        ...(count > 1 ? [`${tag} was refused ${count} times at ${id} as too long`] : []),
        ...(count > 0 && isKnown && isElsewhere && selector !== id
          ? [`${tag} was sent to ${id}, whose context is known to be too small`]
          : []),
      ];
    });
  });
}

const tooLong = "context_length_exceeded";

function matchingOf(agents: readonly PlannedAgent[], { selector }: PlannedRequest) {
  return agents.filter(({ name, model }) => mayGoTo(selector, name, model));
}
