import type { History } from "../history.ts";

/** Longer than a request takes to its hub. */
const arrivesMs = 100;

/**
 * With nothing broken, a client that has one request at a participant waits for at most one request per slot of each other
 * client. Contract §3, "Turns".
 */
export function turnsAreKept({ plan, agents, outcomes }: History): string[] {
  // A request that a small context refused goes to the head of the queue. Contract §3, "Retry".
  const areRetried = agents.some(({ server }) => server.refused.length > 0);
  if (plan.faults.length > 0 || areRetried) return [];
  const clientOf = new Map(plan.requests.map(({ tag, client }) => [tag, client]));
  const sent = plan.requests.flatMap((request) => {
    const outcome = outcomes.find(({ tag }) => tag === request.tag);
    return outcome === undefined ? [] : [{ ...request, ...outcome }];
  });
  return agents.flatMap(({ id, slots, server: { generations } }) =>
    sent.flatMap(({ tag, client, selector, isBatch, isForm, sentMs, endedMs = Infinity }) => {
      const isAlone = !sent.some(
        (one) =>
          one.client === client &&
          one.tag !== tag &&
          one.sentMs < endedMs &&
          sentMs < (one.endedMs ?? Infinity),
      );
      if (selector !== id || isBatch || isForm || !isAlone) return [];
      const began = generations.find((one) => one.tag === tag)?.beganMs ?? endedMs;
      const before = generations.filter(
        ({ beganMs }) => sentMs + arrivesMs < beganMs && beganMs < began,
      );
      return plan.clients.flatMap((name, other) => {
        const turns = before.filter((one) => clientOf.get(one.tag) === other).length;
        return turns > slots ? [`${tag} waited for ${turns} requests of ${name} at ${id}`] : [];
      });
    }),
  );
}

/** Longer than a refusal takes to its hub, and an event to its watcher. */
const reportedMs = 500;

/**
 * With nothing broken, a request that was too long for one participant is ahead of all that wait for the one which takes it.
 * Contract §3, "Turns".
 */
export function theRefusedComeFirst({ plan, agents, outcomes, watchers }: History): string[] {
  const [watcher] = watchers;
  if (plan.faults.length > 0 || watcher?.connections !== 1) return [];
  const tagOf = new Map(outcomes.map(({ requestId, tag }) => [requestId, tag]));
  // Those of batches come behind all others even so.
  const isBatch = new Set(plan.requests.filter((one) => one.isBatch).map(({ tag }) => tag));
  const refused = agents.flatMap(({ server }) => server.refused);
  const isRetried = new Set(refused.map(({ tag }) => tag));
  const attempts = watcher.events
    .filter(({ type }) => type.replace(":", ".") === "llm.request")
    .map(({ data, atMs }) => {
      const { requestId, participantId } = data;
      return { tag: tagOf.get(String(requestId)) ?? "", participantId, atMs };
    });
  return refused.flatMap(({ tag, atMs }) => {
    if (isBatch.has(tag)) return [];
    const next = attempts.findIndex((one) => one.tag === tag && one.atMs > atMs);
    const { participantId } = attempts[next] ?? {};
    return attempts
      .slice(0, Math.max(0, next))
      .filter((one) => one.participantId === participantId && !isRetried.has(one.tag))
      .filter((one) => one.atMs > atMs + reportedMs)
      .map((one) => `${tag} waited for ${one.tag} at ${String(participantId)}`);
  });
}
