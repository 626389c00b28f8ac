import { until } from "../../support/waiting.ts";
import type { Surface } from "../client-call.ts";
import type { ClosedReport } from "../programs/provider.ts";
import { inMs, must, percentile, type Scenario } from "../scenario.ts";

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
    await world.open();
    const each = world.isQuick ? 10 : 50;
    const closed = new Map<string, ClosedReport>();
    world.provider.program.on("closed", (report: ClosedReport) => closed.set(report.tag, report));
    const wishes = cases.flatMap(({ surface, stream }) =>
      Array.from({ length: each }, (_, index) => ({
        ...{ tag: `${surface}-${stream}-${index}`, surface, stream },
        ...(stream
          ? {
              behaviour: { kind: "normal", words: 400, chunkDelayMs: 25 } as const,
              leaveAfterPieces: 3,
            }
          : { behaviour: { kind: "hang" } as const, leaveAfterMs: 100 }),
      })),
    );
    const outcomes = await world.clients.call("inTurn", {
      wishes: wishes.map((wish) => world.callWish(wish)),
      ...{ atOnce: 4, pauseMs: 10 },
    });
    world.addOutcomes(outcomes);
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
      `client gone → provider's socket closed, p99 of ${delaysMs.length}`,
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
