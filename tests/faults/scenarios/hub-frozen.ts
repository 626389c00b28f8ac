import { must, mustComplete, pauseMs } from "../figure.ts";
import type { Scenario } from "../scenario.ts";

export const hubFrozen: Scenario = {
  id: "F16",
  title:
    "a hub that was suspended for 40 s declares no participant offline and completes pending requests",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    await world.open({ participants: 2, hasLoad: false });
    const tags = await world.startAll([
      { tag: "before", behaviour: { kind: "normal", words: 200, chunkDelayMs: 250 } },
      { tag: "before-json", stream: false, behaviour: { kind: "slow-head", delayMs: 3_000 } },
    ]);
    await world.clients.call("reached", { tag: "before", pieces: 5 });
    world.hub.signal("SIGSTOP");
    await pauseMs(1_000);
    const during = await world.start({ tag: "during", model: "p2" });
    await pauseMs(39_000);
    world.hub.signal("SIGCONT");
    for (const outcome of await world.outcomes([...tags, during])) {
      // Participants could not know that the hub only slept: their own pings may have ended the tunnel.
      const isFair =
        outcome.end === "complete" ||
        outcome.code === "tunnel_lost" ||
        outcome.code === "participant_offline";
      must(isFair, `${outcome.tag} ended ${outcome.end} ${outcome.code}`);
    }
    await pauseMs(5_000);
    const offline = world.events.of("participant.offline").length;
    world.fact(
      "hub asleep for 40 s: participant.offline events",
      "0",
      String(offline),
      offline === 0,
    );
    const after = await world.outcomes(
      await world.startAll([{ tag: "after-1" }, { tag: "after-2", model: "p2" }]),
    );
    mustComplete(after);
  },
};
