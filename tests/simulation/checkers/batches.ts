import { type Generation, hasRoomFor } from "../actors/scripted-server.ts";
import type { History } from "../history.ts";
import { mayGoTo } from "../plan.ts";

/** Longer than a request takes to a hub, and from there to an agent and its model server. */
const arrivesMs = 1_500;

/** With nothing broken, no request of a batch begins where an interactive one waits. Contract §3, "Batches". */
export function batchesComeLast(history: History): string[] {
  return unbrokenBatches(history).flatMap(({ tag, beganMs, agent }) =>
    interactiveOf(history)
      .filter(({ planned }) => mayGoTo(planned.selector, agent.id, agent.model))
      .filter(({ planned }) => hasRoomFor(agent, planned))
      .filter(
        ({ sentMs, waitedUntilMs }) => sentMs + arrivesMs < beganMs && beganMs < waitedUntilMs,
      )
      .map((waiting) => `${tag} began at ${agent.id} before ${waiting.tag}, which waited`),
  );
}

/** With nothing broken, each model keeps a slot for the next interactive request, once there was one. Contract §3, "Batches". */
export function batchesLeaveSlots(history: History): string[] {
  const firstMs = Math.min(...interactiveOf(history).map(({ beganMs }) => beganMs));
  const batches = unbrokenBatches(history);
  return batches.flatMap(({ tag, beganMs, agent: { model } }) => {
    if (beganMs < firstMs + arrivesMs) return [];
    const slots = history.agents
      .filter((agent) => agent.model === model)
      .reduce((sum, agent) => sum + agent.slots, 0);
    const most = slots < 8 ? slots - 1 : Math.floor(slots / 2);
    const running = batches.filter(
      (one) =>
        one.agent.model === model && one.beganMs <= beganMs && beganMs < (one.endedMs ?? Infinity),
    );
    return running.length > most
      ? [`${tag} is one of ${running.length} of batches in ${slots} slots of ${model}`]
      : [];
  });
}

/** Generations of requests of batches; none where something is broken. */
function unbrokenBatches({ plan, agents }: History): (Generation & { agent: Agent })[] {
  if (plan.faults.length > 0) return [];
  const tags = new Set(plan.requests.filter(({ isBatch }) => isBatch).map(({ tag }) => tag));
  return agents.flatMap((agent) =>
    agent.server.generations
      .filter(({ tag }) => tags.has(tag))
      .map((generation) => Object.assign({ agent }, generation)),
  );
}

type Agent = History["agents"][number];

/** Interactive requests, and until when each waited. */
function interactiveOf({ plan, agents, outcomes }: History) {
  const generations = agents.flatMap(({ server }) => server.generations);
  return plan.requests.flatMap((planned) => {
    const { tag, selector, isBatch, isForm } = planned;
    const outcome = outcomes.find((one) => one.tag === tag);
    if (isBatch || outcome === undefined) return [];
    // It waits for participants that are known to take forms. Contract §4, "Few servers".
    if (isForm && selector === "*") return [];
    const began = generations.filter((one) => one.tag === tag).map(({ beganMs }) => beganMs);
    const { sentMs, endedMs = Infinity } = outcome;
    const beganMs = Math.min(...began);
    // Its prompt may take so long from its hub to the model server.
    const waitedUntilMs = Math.min(endedMs, beganMs - arrivesMs);
    return [{ tag, planned, sentMs, beganMs, waitedUntilMs }];
  });
}
