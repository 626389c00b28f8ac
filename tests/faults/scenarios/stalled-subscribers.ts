import { until } from "../../support/waiting.ts";
import type { SubscriberHandlers } from "../programs/subscribers.ts";
import { inMib, mib, must, pauseMs } from "../figure.ts";
import type { Scenario } from "../scenario.ts";

export const stalledSubscribers: Scenario = {
  id: "F12",
  title: "watchers that never read are dropped at their limit; those beside them miss nothing",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    const stalled = 200;
    const healthy = 20;
    // Open files are counted: those of other requests would be counted too.
    await world.open({ hasLoad: false });
    await world.api.join(world.code, {
      ...{ id: "talkative", nickname: "t", model: "m", endpoint: world.provider.url },
    });
    const fdsBefore = world.hub.fdCount();
    const watchers = await world.children.program<SubscriberHandlers>("subscribers");
    const readers = await world.children.program<SubscriberHandlers>("subscribers");
    const path = `/v1/rooms/${world.code}/events`;
    const where = { port: world.hub.port, path };
    await watchers.call("open", { ...where, count: stalled, isStalled: true });
    await readers.call("open", { ...where, count: healthy, isStalled: false });
    await pauseMs(500);
    await readers.call("count", "event: participant.updated");
    const beforeBytes = world.hub.rssBytes();
    let mostBytes = 0;
    let told = 0;
    // Events of 15 KB, so that the limit is reached soon.
    const specs = { notes: "x".repeat(15_000) };
    const endMs = performance.now() + 25_000;
    let left = stalled;
    while (left > 0 && performance.now() < endMs) {
      await world.api.updateParticipant(world.code, "talkative", { specs, nickname: `t${told}` });
      told++;
      await pauseMs(5);
      if (told % 20 !== 0) continue;
      mostBytes = Math.max(mostBytes, world.hub.rssBytes());
      left = world.hub.fdCount() - fdsBefore - healthy;
    }
    const grownBytes = mostBytes - beforeBytes;
    world.figure(
      `${stalled} stalled watchers until dropped: hub memory`,
      ...([
        `≤ ${inMib(stalled * 1.3 * mib)}`,
        inMib(grownBytes),
        grownBytes <= stalled * 1.3 * mib,
      ] as const),
    );
    must(left <= 0, `${left} of ${stalled} stalled watchers were still there after ${told} events`);
    const seen = await until(
      "the readers to have everything",
      () => readers.call("seen"),
      ({ events }) => events >= told * healthy,
    );
    must(seen.closed === 0, `${seen.closed} readers were dropped`);
  },
};
