import { until } from "../../support/waiting.ts";
import { createNamespace, type Namespace } from "../network.ts";
import { must, pauseMs, withoutResuming } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";
import type { World } from "../world.ts";

export const partition: Scenario = {
  id: "F5",
  title:
    "a participant behind a silent partition is noticed, declared offline once, and back after it",
  needs: ["root", "ip", "iptables", "proc"],
  isQuick: false,
  run: (world) =>
    withRemote(world, withoutResuming, async (namespace) => {
      const long = { kind: "normal", words: 8_000, chunkDelayMs: 25 } as const;
      const tag = await world.start({ tag: "cut-off", model: "remote", behaviour: long });
      await world.clients.call("reached", { tag, pieces: 10 });
      const joinedBefore = world.events.of("participant.joined").length;
      namespace.run("iptables -A INPUT -j DROP");
      namespace.run("iptables -A OUTPUT -j DROP");
      const cutMs = sharedNowMs();
      const outcome = await world.outcome(tag);
      must(outcome.code === "tunnel_lost", `the stream ended ${outcome.end} ${outcome.code}`);
      const noticedMs = outcome.endedMs - cutMs;
      await until(
        "remote to be offline",
        () => world.events.of("participant.offline").length,
        (count) => count > 0,
        20_000,
      );
      const offlineMs = sharedNowMs() - cutMs;
      await pauseMs(Math.max(0, 45_000 - (sharedNowMs() - cutMs)));
      namespace.run("iptables -F");
      const healedMs = sharedNowMs();
      await until("remote to be back", () => world.listed("remote"), isBack, 30_000);
      const backMs = sharedNowMs() - healedMs;
      const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
      world.figure("silent partition noticed", "≤ 30 s", inSeconds(noticedMs), noticedMs <= 30_000);
      world.figure(
        "… declared offline, after the last packet",
        ...(["20–31 s", inSeconds(offlineMs), offlineMs >= 20_000 && offlineMs <= 31_000] as const),
      );
      world.figure("… back after it", "≤ 20 s", inSeconds(backMs), backMs <= 20_000);
      const offline = world.events.of("participant.offline").length;
      must(offline === 1, `${offline} participant.offline`);
      must(
        world.events.of("participant.joined").length === joinedBefore,
        "it was announced as new",
      );
      const after = await world.outcome(await world.start({ tag: "after", model: "remote" }));
      must(after.end === "complete", `afterwards: ${after.end} ${after.code}`);
    }),
};

export const packetLoss: Scenario = {
  id: "F6",
  title: "lost packets cost time, never content: 5 % nothing else, 20 % no liveness either",
  needs: ["root", "ip", "iptables", "proc"],
  isQuick: false,
  run: (world) =>
    withRemote(world, {}, async (namespace) => {
      for (const [percent, mustComplete] of [
        [5, true],
        [20, false],
      ] as const) {
        const rule = `-m statistic --mode random --probability ${percent / 100} -j DROP`;
        for (const chain of ["INPUT", "OUTPUT"]) namespace.run(`iptables -A ${chain} ${rule}`);
        const tags = await world.startAll(
          Array.from({ length: 20 }, (_, index) => ({
            tag: `loss-${percent}-${index}`,
            model: "remote",
            behaviour: {
              kind: "normal",
              words: mustComplete ? 100 : 40,
              chunkDelayMs: 10,
            } as const,
          })),
        );
        const outcomes = await world.outcomes(tags);
        namespace.run("iptables -F");
        const complete = outcomes.filter(({ end }) => end === "complete").length;
        must(
          outcomes.every(({ end }) => end === "complete" || end === "error"),
          "silent ends",
        );
        world.fact(
          `${percent} % packet loss: streams complete, of ${tags.length}`,
          mustComplete ? "all" : "all, or an error",
          String(complete),
          !mustComplete || complete === tags.length,
        );
      }
      must(world.events.of("participant.offline").length === 0, "somebody was declared offline");
    }),
};

export const slowNetwork: Scenario = {
  id: "F8",
  title: "a client behind 1 Mbit/s gets its full bandwidth, and the provider is slowed down to it",
  needs: ["root", "ip", "tc", "proc"],
  isQuick: false,
  run: (world) =>
    withRemote(world, {}, async (namespace) => {
      namespace.runOutside(
        "tc qdisc add dev DEVICE root tbf rate 1mbit burst 32kbit latency 400ms",
      );
      await world.addParticipant("pouring", world.provider.plainUrl);
      const clients = await world.clientsIn(namespace.prefix);
      const pour = { model: "pouring", plain: { pourBytes: 2 * 1024 * 1024 } };
      const wish = world.callWish({
        tag: "slow",
        baseUrl: `http://${namespace.hostAddress}:${world.hub.port}/rooms/${world.code}/v1`,
        ...pour,
      });
      // A young hub grows by itself under the load beside: code is compiled, the heap finds its size.
      const warm = await world.outcome(await world.start({ tag: "warm", ...pour }));
      must(warm.end === "complete", `the warm-up ended ${warm.end} ${warm.code}`);
      await pauseMs(8_000);
      const beforeBytes = world.hub.rssBytes();
      await clients.call("start", wish);
      await pauseMs(5_000);
      const grownBytes = world.hub.rssBytes() - beforeBytes;
      const outcome = await clients.call("outcome", "slow");
      world.addOutcomes([outcome]);
      must(outcome.end === "complete", `it ended ${outcome.end} ${outcome.code}`);
      const seconds = (outcome.endedMs - outcome.askedMs) / 1_000;
      const share = (outcome.bytes * 8) / 1e6 / seconds;
      world.figure(
        "client behind 1 Mbit/s: share of the line",
        ...(["≥ 85 %", `${(100 * share).toFixed(0)} %`, share >= 0.85] as const),
      );
      world.figure(
        "… hub memory meanwhile",
        ...([
          "≤ 8 MiB",
          `${(grownBytes / 2 ** 20).toFixed(1)} MiB`,
          grownBytes <= 8 * 2 ** 20,
        ] as const),
      );
    }),
};

/** A participant named `remote` and its provider behind a virtual network link. */
async function withRemote(
  world: World,
  env: Record<string, string>,
  run: (namespace: Namespace) => Promise<void>,
): Promise<void> {
  const namespace = createNamespace(world.children);
  try {
    await world.open({ env, args: ["--host", "0.0.0.0"] });
    const provider = await world.addProvider(namespace.prefix);
    await world.addParticipant("remote", provider.url, {
      hubUrl: `http://${namespace.hostAddress}:${world.hub.port}`,
      prefix: namespace.prefix,
    });
    await run(namespace);
  } finally {
    namespace.remove();
  }
}

function isBack({ connection, status }: { connection: { connected: boolean }; status: string }) {
  return connection.connected && status === "online";
}
