import { costRatio, costsSeen } from "../figures/cost.ts";
import { interleave } from "../measurements/interleave.ts";
import { targetOf } from "../processes/targets.ts";
import { measured, type Row, skipped } from "../row.ts";

const shape = { bodyBytes: 200 * 1024, content: "code" } as const;

/** What coding agents send with each turn. */
export const longPrompts: Row = {
  id: "27",
  title:
    "prompt of 200 KB, 16 at once and one at a time: CPU of hub and participant, against nginx",
  seconds: { full: 32, quick: 6 },
  async run(world) {
    const target = await targetOf(world, "tunnel");
    const common = { shape, rampMs: 30, warmupMs: 150 };
    if (target !== undefined) {
      await world.load({ ...common, target, connections: 16, windowMs: world.either(3_000, 300) });
    }
    const load = (connections: number) =>
      interleave(world, ["nginx", "tunnel"], world.either(10, 2), {
        ...{ ...common, connections, windowMs: world.either(600, 300) },
      });
    const many = await load(16);
    const one = await load(1);
    if (many.nginx === undefined || one.nginx === undefined) return skipped("nginx");
    const figures = [
      { at: "16 at once", nginx: many.nginx, tunnel: many.tunnel ?? [] },
      { at: "one at a time", nginx: one.nginx, tunnel: one.tunnel ?? [] },
    ].flatMap(({ at, nginx, tunnel }) => [
      {
        ...{ what: `hub / nginx, ${at}`, goal: 4, unit: "×" as const },
        value: costRatio(tunnel, nginx, "responses"),
      },
      {
        ...{ what: `participant / nginx, ${at}`, goal: 3, unit: "×" as const },
        value: costRatio(tunnel, nginx, "responses", "participant"),
      },
    ]);
    return measured(figures, [...costsSeen(many, "responses"), ...costsSeen(one, "responses")]);
  },
};
