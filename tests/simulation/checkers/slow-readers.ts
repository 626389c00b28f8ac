import { hasStalled, stallMs } from "../actors/simulated-client.ts";
import type { History } from "../history.ts";
import { coursesOf } from "./ends.ts";

/**
 * Longer than it takes until all buffers are full, and the hub sees that the time is over; and than a pause before, after
 * which the client read too little for its hub to notice.
 */
const noticedMs = 4_000;

/**
 * What lies between a model server and its client at most: between each two of model server, agent, hubs and client 64 KiB
 * that one end may write, 64 KiB on the way and 64 KiB read at the other; 128 KiB of credit; and in each program a word.
 */
const maxAheadBytes = 2 * 1024 * 1024;

/** Longer than a response takes from its model server to its client. */
const relayMs = 1_500;

/** A model server generates no further than the buffers to a client that reads nothing are large. */
export function slowReadersSlowTheirServers({ plan, agents, outcomes }: History): string[] {
  const generations = agents.flatMap(({ server }) => server.generations);
  return outcomes.flatMap(({ tag, pauses }) => {
    const { tokenBytes } = plan.requests.find((one) => one.tag === tag)!;
    return pauses.flatMap(({ toMs, readBytes }) =>
      generations
        .filter((one) => one.tag === tag)
        .map(({ wordsMs }) => wordsMs.filter((ms) => ms < toMs).length * tokenBytes - readBytes)
        .filter((bytes) => bytes > maxAheadBytes)
        .map((bytes) => `the model server of ${tag} was ${bytes} bytes ahead of its client`),
    );
  });
}

/** With nothing broken, what another client of the same participant reads comes as soon as without it. */
export function nothingWaitsBesideASlowReader({ plan, agents, outcomes }: History): string[] {
  if (plan.faults.length > 0 || outcomes.every(({ pauses }) => pauses.length === 0)) return [];
  const generations = agents.flatMap(({ server }) => server.generations);
  return outcomes.flatMap(({ tag, end, pauses, endedMs = Infinity }) => {
    const { tokens, gapMs } = plan.requests.find((one) => one.tag === tag)!;
    const generation = generations.find((one) => one.tag === tag);
    if (generation === undefined || end !== "complete" || pauses.length > 0) return [];
    const tookMs = endedMs - generation.beganMs;
    return tookMs > (tokens + 1) * Math.max(1, gapMs) + relayMs
      ? [`${tag} took ${tookMs.toFixed(0)} ms beside a client that read slowly`]
      : [];
  });
}

/** With nothing broken, a client that reads nothing for too long is disconnected, and its generation ends. Contract §6. */
export function stalledClientsAreDisconnected(history: History): string[] {
  const { plan, agents, outcomes } = history;
  if (plan.faults.length > 0) return [];
  const courses = coursesOf(history);
  const generations = agents.flatMap(({ server }) => server.generations);
  return outcomes.filter(hasStalled).flatMap(({ tag, end, requestId = "", pauses }) => {
    const dueMs = pauses.find(({ fromMs, toMs }) => toMs - fromMs > stallMs)!.fromMs + stallMs;
    const [event] = courses.get(requestId)?.ends ?? [];
    const code = String(event?.data["code"]);
    const generation = generations.find((one) => one.tag === tag);
    // Nothing but a long error.
    if (generation === undefined) return [];
    const { end: generated, endedMs = Infinity } = generation;
    const isInTime = Math.abs(endedMs - dueMs) < noticedMs;
    return [
      ...(end === "cut" ? [] : [`${tag} read nothing for too long and is ${end}`]),
      ...(code === "client_stalled"
        ? []
        : [`${tag} read nothing for too long, and ended with ${code}`]),
      ...(generated === "cancelled" && isInTime
        ? []
        : [
            `the generation of ${tag} was ${generated} at ${endedMs}, and its client is due at ${dueMs}`,
          ]),
    ];
  });
}
