import type { History } from "./history.ts";

/** What was seen of a history, for people who look for a cause. */
export function detailsOf({ plan, outcomes, watchers, hubs, agents }: History): string {
  return [
    ...plan.faults.map((fault) => `fault ${JSON.stringify(fault)}`),
    ...outcomes.map(
      (outcome) => `client ${JSON.stringify({ ...outcome, text: outcome.text.length })}`,
    ),
    ...agents.flatMap(({ server }) =>
      server.generations.map(
        ({ prompt, wordsMs, ...one }) =>
          `server ${JSON.stringify({ ...one, prompt: prompt.length, words: wordsMs.length })}`,
      ),
    ),
    ...watchers.flatMap(({ events }, index) =>
      events.map(({ atMs, bootId, number, type, data }) => {
        const { requestId, participantId, code } = data;
        const subject = [requestId, participantId, code].map((value) =>
          value === undefined ? "-" : JSON.stringify(value),
        );
        return `watcher ${index} ${atMs.toFixed(0)} ${bootId}-${number} ${type} ${subject.join(" ")}`;
      }),
    ),
    ...hubs.flatMap(({ machine, log }) => log.map((line) => `log ${machine.name} ${line.trim()}`)),
  ].join("\n");
}
