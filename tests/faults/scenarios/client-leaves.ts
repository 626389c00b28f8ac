import { until } from "../../support/waiting.ts";
import type { CallOutcome, Surface } from "../client-call.ts";
import type { ClosedReport } from "../programs/provider.ts";
import { inMs, must, percentile } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import type { Wish, World } from "../world.ts";

const cases = (["chat/completions", "responses"] as const satisfies readonly Surface[]).flatMap(
  (surface) => [true, false].map((stream) => ({ surface, stream })),
);

export const clientLeaves: Scenario = {
  id: "F14",
  title:
    "a client that leaves ends the provider's work at once, streaming or not, on both surfaces",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    await world.open({ hasLoad: !world.isQuick, hasObservers: true });
    const each = world.isQuick ? 5 : 50;
    const asked = new Set<string>();
    const closed = new Map<string, ClosedReport>();
    world.provider.program.on("asked", ({ tag }: { tag: string }) => asked.add(tag));
    world.provider.program.on("closed", (report: ClosedReport) => closed.set(report.tag, report));
    const wishes = cases.flatMap(({ surface, stream }) =>
      Array.from({ length: each }, (_, index) => ({
        ...{ tag: `${surface}-${stream}-${index}`, surface, stream },
        ...(stream
          ? {
              behaviour: { kind: "normal", words: 400, chunkDelayMs: 25 } as const,
              leaveAfterPieces: 3,
            }
          : { behaviour: { kind: "hang" } as const }),
      })),
    );
    const outcomes = await inLanes(4, wishes, (wish) => askAndLeave(world, wish, asked));
    await until(
      "the provider to be left",
      () => closed.size,
      (size) => size === wishes.length,
    );
    const delaysMs = outcomes.map(({ tag, leftMs, end }) => {
      must(end === "left", `${tag} ended ${end}`);
      const report = closed.get(tag);
      must(report?.isGone === true, `the provider finished ${tag}`);
      return (report?.atMs ?? Number.NaN) - (leftMs ?? Number.NaN);
    });
    const p99Ms = percentile(delaysMs, 0.99);
    world.figure(
      `client disconnects → provider's socket closed, p99 of ${delaysMs.length}`,
      ...(["≤ 100 ms", inMs(p99Ms), p99Ms <= 100] as const),
    );
    await until(
      "an llm.error for each",
      () =>
        world.events.of("llm.error").filter(({ data }) => data["code"] === "client_disconnected")
          .length,
      (count) => count >= wishes.length,
    );
  },
};

/** A stream is aborted in its middle, a JSON response while the provider works on it. */
async function askAndLeave(
  world: World,
  wish: Wish,
  asked: ReadonlySet<string>,
): Promise<CallOutcome> {
  const tag = await world.start(wish);
  if (wish.leaveAfterPieces === undefined) {
    await until(
      `the provider to be asked ${tag}`,
      () => asked.has(tag),
      (isAsked) => isAsked,
    );
    await world.clients.call("leave", tag);
  }
  return world.outcome(tag);
}

/** So many at a time. @returns in no order */
async function inLanes<T, R>(
  lanes: number,
  values: readonly T[],
  run: (value: T) => Promise<R>,
): Promise<R[]> {
  const left = [...values];
  const results: R[] = [];
  async function work(): Promise<void> {
    for (let value = left.pop(); value !== undefined; value = left.pop()) {
      results.push(await run(value));
    }
  }
  await Promise.all(Array.from({ length: lanes }, work));
  return results;
}
