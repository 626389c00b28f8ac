import type { Outcome } from "../actors/simulated-client.ts";
import { hasRoomFor } from "../actors/scripted-server.ts";
import type { History } from "../history.ts";
import { mayGoTo } from "../plan.ts";
import { mayBeSentAgain } from "./ends.ts";

type Agent = History["agents"][number];

/** What is admitted within a minute has begun within one, too, but for what it takes to its model server. */
const minuteMs = { least: 50_000, most: 62_000 };

/** Longer than it takes from an agent to its model server. */
const arrivesMs = 2_000;

/**
 * An agent admits no more requests in a minute than its budget has, and none once its tokens of the day are spent, also
 * after it was killed. Contract §3, "Budgets".
 */
export function budgetsAreKept(history: History): string[] {
  const { agents, plan } = history;
  const areTimesKnown = plan.faults.every(
    (fault) =>
      ["stop", "model server"].includes(fault.kind) || (fault.kind === "kill" && !fault.isPowerCut),
  );
  if (!areTimesKnown) return [];
  return agents.flatMap((agent) => {
    const { id, budget } = agent;
    const generations = agent.server.generations.filter((one) => !mayBeSentAgain(one));
    return generations.flatMap(({ tag, beganMs }) => {
      if (budget === undefined) return [];
      if ("tokensPerDay" in budget) {
        const spent = spentBefore(history, agent, beganMs - arrivesMs);
        return spent >= budget.tokensPerDay
          ? [`${tag} began at ${id} after ${spent} tokens, of ${budget.tokensPerDay}`]
          : [];
      }
      const ofMinute = generations.filter(
        (one) => beganMs <= one.beganMs && one.beganMs < beganMs + minuteMs.least,
      );
      return ofMinute.length > budget.requestsPerMinute
        ? [`${tag} began at ${id} with ${ofMinute.length} in a minute: ${budget.requestsPerMinute}`]
        : [];
    });
  });
}

/** Of responses that their clients had whole by then: an agent that was killed may not know others. */
function spentBefore({ outcomes, agents }: History, { server }: Agent, ms: number): number {
  const generations = agents.flatMap((one) => one.server.generations);
  return server.generations
    .filter(({ tag, end }) => {
      const outcome = outcomes.find((one) => one.tag === tag);
      const isOnly = generations.filter((one) => one.tag === tag).length === 1;
      const isWhole = end === "complete" && outcome?.end === "complete";
      return isWhole && isOnly && (outcome.endedMs ?? ms) < ms;
    })
    .reduce((sum, { reportedTokens }) => sum + reportedTokens, 0);
}

/**
 * With nothing broken, a request is refused for a budget when those of all that may serve it are used up, and after ends of
 * hubs and agents when one of them is. Contract §3, "Budgets".
 */
export function refusalsAreTrue(history: History): string[] {
  const { plan, agents, outcomes, lateOutcomes } = history;
  if (!plan.faults.every(({ kind }) => kind === "kill" || kind === "stop")) return [];
  const all = [...outcomes, ...lateOutcomes.map(({ outcome }) => outcome)];
  return all.flatMap((outcome) => {
    const planned = plan.requests.find(({ tag }) => tag === outcome.tag);
    const { selector, isForm } = planned ?? { selector: "*", isForm: false };
    const isFitting = (agent: Agent) => planned === undefined || hasRoomFor(agent, planned);
    if (outcome.code !== "budget_exhausted") return [];
    const matching = agents.filter(({ id, model }) => mayGoTo(selector, id, model));
    const isUsedUp = (agent: Agent) => mayBeUsedUp(history, agent, outcome);
    // It waits for participants that are known to take forms. Contract §4, "Few servers".
    const isLimited = isForm && selector === "*";
    // A stream that has waited until its head was written is not tried elsewhere. Contract §3, "Retry".
    const isEach = plan.faults.length === 0 && !isLimited && outcome.status !== 200;
    const isTrue = isEach ? matching.filter(isFitting).every(isUsedUp) : matching.some(isUsedUp);
    return isTrue ? [] : [`${outcome.tag} was refused for a budget that was not used up`];
  });
}

function mayBeUsedUp({ outcomes, agents }: History, agent: Agent, outcome: Outcome): boolean {
  const { budget, server } = agent;
  const { sentMs, endedMs = sentMs } = outcome;
  // What was admitted before may still be on its way: a form comes in pieces.
  const before = server.generations.filter(({ beganMs }) => beganMs <= endedMs + arrivesMs);
  if (budget === undefined) return false;
  if ("tokensPerDay" in budget) {
    // What a response that was not whole has cost is the agent's estimate.
    const isEstimated = before.some((one) => one.end !== "complete");
    const spent = before.reduce((sum, { reportedTokens }) => sum + reportedTokens, 0);
    return isEstimated || spent >= budget.tokensPerDay;
  }
  const ofMinute = before.filter(({ beganMs }) => endedMs - minuteMs.most < beganMs);
  // They may have been admitted, and ended before they reached the model server.
  const unserved = outcomes.filter(
    ({ tag, code }) =>
      code !== "budget_exhausted" &&
      !agents.some((one) => one.server.generations.some((generation) => generation.tag === tag)),
  );
  // What its model server refuses as too long was admitted, too.
  const admitted = ofMinute.length + server.refused.length + unserved.length;
  return admitted >= budget.requestsPerMinute;
}
