import type { History } from "../history.ts";
import { coursesOf } from "./ends.ts";

/** Longer than the end of a response takes from one hub to another, and to its client. */
const arrivesMs = 50;

/** What an event of a complete response says of it. Interface §6. */
interface Figures {
  ttftMs: number;
  durationMs: number;
  inputTokens?: number;
  outputTokens?: number;
}

/**
 * With nothing broken, what a hub measured lies between what the model server and the client saw, and the tokens are the
 * model server's.
 */
export function figuresAreTrue(history: History): string[] {
  const { plan, agents, outcomes } = history;
  if (plan.faults.length > 0) return [];
  const courses = coursesOf(history);
  const generations = agents.flatMap(({ server }) => server.generations);
  return outcomes.flatMap(({ tag, end, requestId = "", sentMs, endedMs = Infinity }) => {
    const event = courses.get(requestId)?.ends[0];
    const [generation, ...further] = generations.filter((one) => one.tag === tag);
    if (end !== "complete" || event === undefined || further.length > 0) return [];
    if (generation?.endedMs === undefined) return [];
    const { metrics, queueMs } = event.data as { metrics: Figures; queueMs: number };
    const { ttftMs, durationMs, inputTokens = 0, outputTokens = 0 } = metrics;
    const mostMs = endedMs - sentMs + arrivesMs;
    const leastMs = generation.endedMs - generation.beganMs + queueMs;
    const firstMs = (generation.wordsMs[0] ?? generation.endedMs) - generation.beganMs + queueMs;
    const isInTime = leastMs <= durationMs + 1 && durationMs <= mostMs;
    const tokens = inputTokens + outputTokens;
    return [
      ...(isInTime
        ? []
        : [`${tag} took ${durationMs} ms in its event, not ${leastMs} to ${mostMs}`]),
      ...(firstMs <= ttftMs + 1 && ttftMs <= durationMs
        ? []
        : [`${tag} began after ${ttftMs} ms in its event, not ${firstMs} to ${durationMs}`]),
      ...(generation.reportedTokens === 0 || tokens === generation.reportedTokens
        ? []
        : [`${tag} has ${tokens} tokens in its event, not ${generation.reportedTokens}`]),
    ];
  });
}
