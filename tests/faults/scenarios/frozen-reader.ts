import { inMs, kib, mib, must, pauseMs, percentile } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import type { World } from "../world.ts";

export const frozenReader: Scenario = {
  id: "F13b",
  title: "one frozen reader beside 100 live streams on the same tunnel does not slow them down",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    world.connectionsMayBreak();
    await world.open({ participants: 0, hasLoad: false });
    await world.addParticipant("p1", world.provider.plainUrl);
    await roundOf(world, "warm", 5);
    const without: number[] = [];
    const beside: number[] = [];
    // In turn, so that disturbances of the machine affect both alike.
    for (let round = 0; round < 3; round++) {
      without.push(await roundOf(world, `without-${round}`, 8));
      const frozen = await world.start({
        tag: `frozen-${round}`,
        plain: { pourBytes: 1_024 * mib },
        stallAfterBytes: 64 * kib,
      });
      await pauseMs(300);
      beside.push(await roundOf(world, `beside-${round}`, 8));
      await world.clients.call("leave", frozen);
    }
    const [beforeMs, besideMs] = [Math.min(...without), Math.min(...beside)];
    const change = besideMs / beforeMs - 1;
    world.figure(
      "frozen reader beside 100 streams: their p99 pause between tokens, best of 3 rounds each",
      "≤ +10 %",
      `${inMs(beforeMs)} → ${inMs(besideMs)} (${change < 0 ? "" : "+"}${(100 * change).toFixed(1)} %)`,
      change <= 0.1,
    );
  },
};

/** 100 streams at 20 tokens a second each. @returns the p99 of the time between two tokens */
async function roundOf(world: World, name: string, seconds: number): Promise<number> {
  const tags = await world.startAll(
    Array.from({ length: 100 }, (_, index) => ({
      tag: `${name}-${index}`,
      plain: { pieces: seconds * 20, delayMs: 50 },
      keepsTimes: true,
    })),
  );
  const outcomes = await world.outcomes(tags);
  const gapsMs = outcomes.flatMap(({ tag, end, code, timesMs }) => {
    must(end === "complete", `${tag} ended ${end} ${code}`);
    // The first second is that of 100 requests arriving at once.
    return timesMs.slice(20).map((atMs, index) => atMs - (timesMs[index + 19] ?? atMs));
  });
  return percentile(gapsMs, 0.99);
}
