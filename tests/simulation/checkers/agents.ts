import { hasRoomFor } from "../actors/scripted-server.ts";
import type { History } from "../history.ts";
import type { Fault } from "../plan.ts";
import { ofLoad } from "./service.ts";

/** A participant that gives no sign of life for 30 s is offline. Contract §2. */
const offlineMs = 40_000;

/** A tunnel is dead after two missed pings, and its session waits for another 30 s. Contract §6. */
const lostMs = 65_000;

/** Where a hub and an agent do not hear each other for long, the participant is offline, and no request waits for the end of it. */
export function silenceIsNoticed({ plan, agents, outcomes, watchers }: History): string[] {
  const fault = onlyFaultOf(plan.faults);
  if (fault?.kind !== "cut" || plan.hubs.length > 1 || fault.forMs < lostMs) return [];
  const agent = plan.agents.find(({ name }) => name === fault.other);
  if (agent === undefined) return [];
  const isOffline = watchers[0]?.events.some(
    ({ type, data, atMs }) =>
      type.endsWith("offline") &&
      data["participantId"] === agent.name &&
      fault.atMs < atMs &&
      atMs < fault.atMs + offlineMs,
  );
  const generations = agents
    .filter(({ id }) => id !== agent.name)
    .flatMap(({ server }) => server.generations);
  return [
    ...(isOffline === true ? [] : [`${agent.name} was silent and is not reported as offline`]),
    ...outcomes
      .filter(({ sentMs }) => sentMs < fault.atMs)
      .filter(({ endedMs = Infinity }) => endedMs > fault.atMs + lostMs)
      // Another one has served it, perhaps after it has waited there for a slot.
      .filter(({ tag }) => !generations.some((one) => one.tag === tag))
      .map(({ tag }) => `${tag} waited for an agent that was silent`),
  ];
}

/** A longer form is not kept for another participant. Contract §4, "Forms". */
const maxKeptBytes = 1024 * 1024;

/** Where an agent ends before a response has begun, another agent that may serve the request does. Contract §3, "Retry". */
export function anotherServes({ plan, outcomes }: History): string[] {
  const fault = onlyFaultOf(plan.faults);
  if (fault?.kind !== "kill" || plan.hubs.includes(fault.machine)) return [];
  const others = plan.agents.filter(
    ({ name, budget }) => name !== fault.machine && budget === undefined,
  );
  return outcomes.flatMap(({ tag, status, end, code }) => {
    const planned = plan.requests.find((request) => request.tag === tag)!;
    const { selector, isForm, promptBytes } = planned;
    if (isForm && promptBytes + 1_000 > maxKeptBytes) return [];
    const isOther = others.some(
      (agent) =>
        ["*", agent.model, `model:${agent.model}`].includes(selector) && hasRoomFor(agent, planned),
    );
    if (!isOther || status === 200 || end !== "error" || ofLoad.has(code ?? "")) return [];
    return [`${tag} ended with ${code ?? end}, and another agent was there`];
  });
}

function onlyFaultOf(faults: readonly Fault[]): Fault | undefined {
  return faults.length === 1 ? faults[0] : undefined;
}
