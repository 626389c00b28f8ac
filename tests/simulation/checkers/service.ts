import { hasStalled, type Outcome } from "../actors/simulated-client.ts";
import { type Generation, hasRoomFor } from "../actors/scripted-server.ts";
import type { History } from "../history.ts";
import { mayGoTo } from "../plan.ts";

/** What a request may end with although nothing is broken: more is asked of slots, budgets or contexts than they have. */
export const ofLoad: ReadonlySet<string> = new Set([
  "queue_timeout",
  "queue_full",
  "budget_exhausted",
  "context_length_exceeded",
]);

/** Longer than a request takes through hub and agent. */
const startMs = 1_500;

/** Longer than it takes for a hub, its agent and its model server to learn that a client has left. */
const cancelMs = 3_000;

/** With nothing broken, each request whose client stays is complete; with a broken model server it ends with an error, not with a cut. */
export function whatIsServedIsWhole({ plan, outcomes }: History): string[] {
  if (!plan.faults.every(({ kind }) => kind === "model server")) return [];
  return outcomes.flatMap((outcome) => {
    const { tag, end, code } = outcome;
    if (hasStalled(outcome)) return [];
    if (end === "cut" || end === "refused") return [`${tag} was ${end} though no connection broke`];
    const isLoad = code !== undefined && ofLoad.has(code);
    if (plan.faults.length > 0 || end !== "error" || isLoad) return [];
    return [`${tag} ended with ${code ?? "an error"} though nothing was broken`];
  });
}

/** A stream that does not come to its end says so: a client takes one that merely closes for whole. */
export function noStreamJustCloses({ outcomes }: History): string[] {
  return outcomes
    .filter(({ isStream, isClosed, end }) => isStream && isClosed && end === "cut")
    .map(({ tag }) => `${tag} has neither its last event nor an error`);
}

/** With nothing broken, no request waits while a participant that could serve it has a free slot. */
export function nothingWaitsBesideAFreeSlot({ plan, agents, outcomes }: History): string[] {
  if (plan.faults.length > 0) return [];
  return outcomes.flatMap((outcome) => {
    const planned = plan.requests.find(({ tag }) => tag === outcome.tag)!;
    const { selector, isBatch, isForm } = planned;
    // That is what it is for.
    if (isBatch) return [];
    // It waits for participants that are known to take forms. Contract §4, "Few servers".
    if (isForm && selector === "*") return [];
    const waited = waitOf(
      outcome,
      agents.flatMap(({ server }) => server.generations),
    );
    // A slot is taken until the client has the last byte, which is later where that reads slowly.
    const whileRead = (generations: readonly Generation[]) =>
      generations.map(({ tag, beganMs, endedMs = Infinity }) => {
        const reader = outcomes.find((one) => one.tag === tag && one.pauses.length > 0);
        return { beganMs, endedMs: Math.max(endedMs, reader?.endedMs ?? 0) };
      });
    return agents
      .filter((agent) => agent.budget === undefined && hasRoomFor(agent, planned))
      .filter(({ id, model }) => mayGoTo(selector, id, model))
      .flatMap(({ id, slots, server }) =>
        longestFreeMs(whileRead(server.generations), slots, waited) > startMs
          ? [`${outcome.tag} waited beside a free slot of ${id}`]
          : [],
      );
  });
}

/** With nothing broken, a generation ends soon after its client has left. */
export function leavingCancels({ plan, agents, outcomes }: History): string[] {
  if (plan.faults.length > 0) return [];
  const generations = agents.flatMap(({ server }) => server.generations);
  return outcomes.flatMap(({ tag, end, endedMs = 0 }) => {
    const generation = generations.find((one) => one.tag === tag);
    if (end !== "left" || generation === undefined) return [];
    const { endedMs: generatedMs = Number.POSITIVE_INFINITY } = generation;
    return generatedMs > endedMs + cancelMs
      ? [`${tag} was generated on though its client left`]
      : [];
  });
}

interface Interval {
  fromMs: number;
  toMs: number;
}

function waitOf({ tag, sentMs, endedMs = sentMs }: Outcome, generations: Generation[]): Interval {
  const began = generations.filter((one) => one.tag === tag).map(({ beganMs }) => beganMs);
  return { fromMs: sentMs, toMs: Math.min(endedMs, ...began) };
}

function longestFreeMs(
  generations: readonly { beganMs: number; endedMs: number | undefined }[],
  slots: number,
  { fromMs, toMs }: Interval,
): number {
  const changes = generations
    .flatMap(({ beganMs, endedMs = Number.POSITIVE_INFINITY }) => [
      { atMs: beganMs, by: 1 },
      { atMs: endedMs, by: -1 },
    ])
    .toSorted((one, other) => one.atMs - other.atMs);
  let [running, freeSinceMs, longestMs] = [0, 0, 0];
  for (const { atMs, by } of [...changes, { atMs: toMs, by: 0 }].filter(
    (one) => one.atMs <= toMs,
  )) {
    if (running < slots) longestMs = Math.max(longestMs, atMs - Math.max(freeSinceMs, fromMs));
    if (running >= slots && running + by < slots) freeSinceMs = atMs;
    running += by;
  }
  return longestMs;
}
