import { connect } from "node:net";
import { until } from "../../support/waiting.ts";
import { inMs, must } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";
import type { World } from "../world.ts";

export const hubStopped: Scenario = {
  id: "F19",
  title:
    "a hub that is stopped lets 30 streams finish, accepts no new requests and exits after the last of them",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    await world.open({ hasLoad: false });
    // 3 seconds: enough for everything before the first of them ends, on a busy machine too.
    const tags = await startStreams(world, 120);
    // Unused sockets must not delay it.
    const idle = Array.from({ length: 5 }, () => connect(world.hub.port, "127.0.0.1"));
    for (const socket of idle) socket.on("error", () => undefined);
    const base = world.baseUrl;
    world.hub.signal("SIGTERM");
    await until(
      "/health to say 503 while draining",
      async () => (await fetch(`${world.hub.url}/health`)).status,
      (status) => status === 503,
    );
    const refused = await world.outcome(await world.start({ tag: "refused", baseUrl: base }));
    must(refused.code === "hub_draining", `new work was told ${refused.end} ${refused.code}`);
    const outcomes = await world.outcomes(tags);
    const finished = outcomes.filter(({ end }) => end === "complete").length;
    const lastMs = Math.max(...outcomes.map(({ endedMs }) => endedMs));
    const { code, signal } = await world.hub.exited;
    const goneMs = sharedNowMs() - lastMs;
    for (const socket of idle) socket.destroy();
    must(code === 0, `the hub ended with ${code} ${signal}`);
    world.fact(
      `SIGTERM with ${tags.length} streams: finished`,
      ...([String(tags.length), String(finished), finished === tags.length] as const),
    );
    world.figure("… exit after the last", "≤ 700 ms", inMs(goneMs), goneMs <= 700);
  },
};

export const hubStoppedShort: Scenario = {
  id: "F20",
  title:
    "a hub that is stopped ends what outlasts the drain limit with an error frame, not in silence",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    await world.open({ env: { ROOMHUB_DRAIN_MS: "1500" } });
    const tags = await startStreams(world, 4_000);
    const stoppedMs = sharedNowMs();
    world.hub.signal("SIGTERM");
    for (const { tag, end, code } of await world.outcomes(tags)) {
      must(end === "error" && code === "hub_shutting_down", `${tag} ended ${end} ${code}`);
    }
    await world.hub.exited;
    const tookMs = sharedNowMs() - stoppedMs;
    world.figure(
      "drain of 1.5 s with endless streams: exit",
      "≤ 4 s",
      inMs(tookMs),
      tookMs <= 4_000,
    );
  },
};

async function startStreams(world: World, words: number): Promise<string[]> {
  const tags = await world.startAll(
    Array.from({ length: 30 }, (_, index) => ({
      tag: `stream-${index}`,
      surface: index % 2 === 0 ? ("chat/completions" as const) : ("responses" as const),
      behaviour: { kind: "normal", words, chunkDelayMs: 25 } as const,
    })),
  );
  await Promise.all(tags.map((tag) => world.clients.call("reached", { tag, pieces: 5 })));
  return tags;
}
