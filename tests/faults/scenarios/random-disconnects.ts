import type { Behaviour } from "../../support/providers/fake-provider.ts";
import { until } from "../../support/waiting.ts";
import type { CallWish } from "../client-call.ts";
import { inMib, mib, must, pauseMs, smallHeap } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { createRandom } from "../seeded-random.ts";
import type { World } from "../world.ts";

export const randomDisconnects: Scenario = {
  id: "disconnects",
  title: "thousands of disconnects at random moments from either side leave nothing behind",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    const count = world.isQuick ? 300 : 10_000;
    await world.open({
      hasLoad: false,
      env: smallHeap,
    });
    await world.api.join(world.code, {
      ...{ id: "direct", nickname: "direct", model: "direct", endpoint: world.provider.url },
    });
    const random = createRandom(77);
    let number = 0;
    const part = async (size: number) => {
      const wishes = Array.from({ length: size }, () => randomWish(world, random, number++));
      world.addOutcomes(await world.clients.call("inTurn", { wishes, atOnce: 40, pauseMs: 0 }));
      await quiet(world);
      return { rss: world.hub.rssBytes(), fds: world.hub.fdCount() };
    };
    const parts = [];
    for (let index = 0; index < 5; index++) parts.push(await part(count / 5));
    must(!world.hub.hasEnded, "the hub ended");
    const trend = parts.map(({ rss }) => Math.round(rss / mib)).join(", ");
    // Compiled code and a warm heap belong to the first part.
    const [, early] = parts;
    const last = parts.at(-1);
    const grownBytes = (last?.rss ?? 0) - (early?.rss ?? 0);
    const grownFds = (last?.fds ?? 0) - (early?.fds ?? 0);
    world.figure(
      `${count} random disconnects, heap of 64 MiB: hub memory from 40 % to 100 %`,
      ...(["≤ 8 MiB", `${inMib(grownBytes)} (MiB: ${trend})`, grownBytes <= 8 * mib] as const),
    );
    world.figure("… open files left", "≤ 10", String(grownFds), grownFds <= 10);
    await until(
      "every generation to end",
      () => world.provider.program.call("open"),
      (open) => open === 0,
    );
  },
};

function randomWish(world: World, random: () => number, number: number): CallWish {
  const stream = random() < 0.6;
  const wish: CallWish = world.callWish({
    tag: `r-${number}`,
    surface: random() < 0.5 ? "chat/completions" : "responses",
    stream,
    model: random() < 0.3 ? "direct" : "p1",
  });
  if (random() < 0.5) {
    const behaviour: Behaviour = { kind: "normal", words: 30, chunkDelayMs: 2 };
    return { ...wish, behaviour, leaveAfterMs: random() * 60 };
  }
  const afterChunks = Math.floor(random() * 8);
  return { ...wish, behaviour: { kind: "cut", afterChunks, reset: random() < 0.5 } };
}

async function quiet(world: World): Promise<void> {
  await until(
    "no load to be left",
    () => world.api.listParticipants(world.code),
    (all) => all.every(({ load }) => load.active === 0 && load.queued === 0),
  );
  // Sockets closed by the other side are noticed a moment later; kept ones of the provider go after 4 s.
  await pauseMs(world.isQuick ? 200 : 4_500);
}
