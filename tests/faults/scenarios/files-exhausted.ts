import { connect } from "node:net";
import { must, mustComplete, pauseMs } from "../figure.ts";
import type { Scenario } from "../scenario.ts";

export const filesExhausted: Scenario = {
  id: "F22",
  title: "a hub out of file descriptors finishes what runs and recovers by itself",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    await world.open({ prefix: ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"], hasLoad: false });
    const tags = await world.startAll(
      Array.from({ length: 20 }, (_, index) => ({
        tag: `running-${index}`,
        behaviour: { kind: "normal", words: 160, chunkDelayMs: 25 } as const,
      })),
    );
    await world.clients.call("reached", { tag: "running-19", pieces: 3 });
    const crowd = Array.from({ length: 400 }, () => connect(world.hub.port, "127.0.0.1"));
    let dropped = 0;
    for (const socket of crowd) {
      socket.on("error", () => undefined).on("close", () => dropped++);
    }
    const outcomes = await world.outcomes(tags);
    const files = world.hub.fdCount();
    for (const socket of crowd) socket.destroy();
    mustComplete(outcomes);
    must(dropped > 0 || files >= 250, `the hub had only ${files} open files`);
    await pauseMs(1_000);
    const after = await world.outcomes(
      await world.startAll(Array.from({ length: 20 }, (_, index) => ({ tag: `after-${index}` }))),
    );
    mustComplete(after);
    must((await world.listed("p1")).status === "online", "its participant is offline");
  },
};
