import { writeFileSync } from "node:fs";
import { faketimeLibrary } from "../machine.ts";
import { must, pauseMs } from "../figure.ts";
import type { Scenario } from "../scenario.ts";

export const clockJumps: Scenario = {
  id: "F15",
  title: "a wall clock that jumps or races changes displayed times and nothing else",
  needs: ["faketime", "proc"],
  isQuick: false,
  async run(world) {
    const file = world.path("clock");
    const set = (offsetSeconds: number) =>
      writeFileSync(file, `${offsetSeconds < 0 ? "-" : "+"}${Math.abs(offsetSeconds)}s\n`);
    set(0);
    await world.open({
      env: {
        LD_PRELOAD: faketimeLibrary() ?? "",
        FAKETIME_TIMESTAMP_FILE: file,
        ...{ FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1", DONT_FAKE_MONOTONIC: "1" },
      },
    });
    const tag = await world.start({
      tag: "through-it-all",
      behaviour: { kind: "normal", words: 480, chunkDelayMs: 25 },
    });
    await world.clients.call("reached", { tag, pieces: 10 });
    const seen: number[] = [];
    for (const offset of [3_600, -3_600, 600, 1_200, 1_800, 2_400, 3_000]) {
      set(offset);
      await pauseMs(offset % 3_600 === 0 ? 2_500 : 1_000);
      const { timestamp } = await world.api.health();
      seen.push(Math.round((Date.parse(timestamp) - Date.now()) / 1_000));
    }
    must(
      seen[0] !== undefined && Math.abs(seen[0] - 3_600) < 5,
      `the clock did not jump: ${seen.join(", ")}`,
    );
    const outcome = await world.outcome(tag);
    must(outcome.end === "complete", `it ended ${outcome.end} ${outcome.code}`);
    const offline = world.events.of("participant.offline").length;
    must(offline === 0, `${offline} participants were declared offline`);
    for (const { data } of world.events.of("llm.complete")) {
      const { durationMs } = data["metrics"] as { durationMs: number };
      must(durationMs >= 0 && durationMs < 30_000, `a request lasted ${durationMs} ms`);
    }
  },
};
