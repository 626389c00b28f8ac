import { until } from "../../support/waiting.ts";
import type { SubscriberHandlers } from "../programs/subscribers.ts";
import { inMib, inMs, must, pauseMs } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";

export const idleSubscribers: Scenario = {
  id: "F11",
  title: "ten thousand idle watchers cost bounded memory, and one event reaches them all at once",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    const count = 10_000;
    // The harness watches too.
    await world.open({ env: { ROOMHUB_SUBSCRIBERS_PER_ROOM: "10010" }, hasLoad: false });
    const beforeBytes = world.hub.rssBytes();
    const fdsBefore = world.hub.fdCount();
    const watchers = await world.children.program<SubscriberHandlers>("subscribers");
    const openingMs = sharedNowMs();
    const path = `/rooms/${world.code}/events`;
    await watchers.call("open", { port: world.hub.port, path, count, isStalled: false });
    const openedMs = sharedNowMs() - openingMs;
    await pauseMs(2_000);
    const grownBytes = world.hub.rssBytes() - beforeBytes;
    world.figure(
      `${count} idle event subscribers: hub memory`,
      "≤ 250 MB",
      `${inMib(grownBytes)} (opened in ${(openedMs / 1_000).toFixed(1)} s)`,
      grownBytes <= 250e6,
    );
    const delaysMs: number[] = [];
    for (let round = 0; round < 5; round++) {
      await watchers.call("count", "event: participant:updated");
      const toldMs = sharedNowMs();
      await world.api.join(world.code, {
        ...{ id: "newcomer", nickname: `n${round}`, model: "m", endpoint: world.provider.url },
      });
      if (round === 0) continue; // the first is a participant:joined
      const seen = await until(
        "everybody to be told",
        () => watchers.call("seen"),
        ({ withEvents }) => withEvents === count,
      );
      delaysMs.push(seen.lastMs - toldMs);
      await pauseMs(500);
    }
    const longestMs = Math.max(...delaysMs);
    world.figure(
      "… one event to all, longest of 4",
      ...(["≤ 500 ms", inMs(longestMs), longestMs <= 500] as const),
    );
    const asked = await world.outcomes(
      await world.startAll(Array.from({ length: 20 }, (_, index) => ({ tag: `beside-${index}` }))),
    );
    must(
      asked.every(({ end }) => end === "complete"),
      "requests beside them failed",
    );
    await watchers.call("close");
    await until(
      "their sockets to be gone",
      () => world.hub.fdCount(),
      (fds) => fds <= fdsBefore + 20,
    );
  },
};
