import { until } from "../../support/waiting.ts";
import type { ParticipantHandlers } from "../programs/participants.ts";
import { must, mustComplete, pauseMs } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";

export const hubKilled: Scenario = {
  id: "F9",
  title: "a killed hub disconnects its clients, and comes back with its rooms and all participants",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    const count = world.isQuick ? 8 : 200;
    await world.open({ hasLoad: !world.isQuick });
    const crowd = await world.children.program<ParticipantHandlers>("participants");
    await crowd.call("join", {
      ...{ hubUrl: world.hub.url, room: world.code, endpoint: world.provider.url },
      ...{ count, prefix: "crowd" },
    });
    const tags = await world.startAll(
      Array.from({ length: world.isQuick ? 20 : 50 }, (_, index) => ({
        tag: `open-${index}`,
        model: `crowd${index % count}`,
        stream: index % 5 !== 0,
        surface: index % 2 === 0 ? ("chat/completions" as const) : ("responses" as const),
        behaviour:
          index % 5 === 0
            ? ({ kind: "hang" } as const)
            : ({ kind: "normal", words: 4_000, chunkDelayMs: 25 } as const),
      })),
    );
    await world.clients.call("reached", { tag: "open-1", pieces: 10 });
    await world.killHub();
    for (const { tag, end } of await world.outcomes(tags)) {
      must(end === "cut", `the client of ${tag} saw ${end}`);
    }
    // Long enough for every agent to have tried in vain.
    await pauseMs(world.isQuick ? 200 : 1_000);
    await world.restartHub();
    const restartedMs = sharedNowMs();
    const everybody = count + world.participants.length + (world.isQuick ? 0 : 1);
    await until(
      "all participants to be back",
      () => world.api.listParticipants(world.code),
      (all) => all.filter(({ connection }) => connection.connected).length === everybody,
      30_000,
    );
    const backMs = sharedNowMs() - restartedMs;
    world.figure(
      `hub killed and restarted: ${everybody} participants back`,
      "≤ 15 s",
      `${(backMs / 1_000).toFixed(1)} s`,
      backMs <= 15_000,
    );
    const after = await world.outcomes(
      await world.startAll([{ tag: "after-1" }, { tag: "after-2", model: "crowd7" }]),
    );
    mustComplete(after);
    // Leaving takes the crowd a call each: done before the hub stops.
    await crowd.call("leave");
  },
};
