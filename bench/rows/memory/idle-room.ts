import { pauseMs } from "../../../tests/faults/figure.ts";
import { fineCpuMsOf } from "../../figures/process-cpu.ts";
import { median } from "../../figures/spread.ts";
import { joinByTunnel, joinCrowd, openRoom, startHub } from "../../processes/hub.ts";
import { measured, type Row } from "../../row.ts";

const perProcess = 1_000;

/** A room in which nothing happens, larger than the limits allow by default. */
export const idleRoom: Row = {
  id: "30",
  title: "5,000 idle participants: CPU of the hub, a join, a list",
  seconds: { full: 75, quick: 20 },
  async run(world) {
    const count = world.either(5_000, 1_000);
    const limits = { participantsPerRoom: 6_000, participantsPerHub: 6_000 };
    const hub = await startHub(world, { limits });
    const room = await openRoom(hub);
    // Compiles what joins run.
    await joinByTunnel(world, hub.url, room, { count: 50, prefix: "first" });
    const { pid } = hub.child;
    const beforeMs = fineCpuMsOf(pid);
    for (let at = 0; at < count; at += perProcess) {
      await joinCrowd(world, hub.url, room, { count: perProcess, prefix: `idle-${at}-` });
    }
    const joinMs = (fineCpuMsOf(pid) - beforeMs) / count;
    await pauseMs(2_000);
    const idleMs = world.either(20_000, 5_000);
    const idleBeforeMs = fineCpuMsOf(pid);
    await pauseMs(idleMs);
    const share = ((fineCpuMsOf(pid) - idleBeforeMs) / idleMs) * 100;
    const listMs: number[] = [];
    for (let round = 0; round < world.either(20, 8); round++) {
      // Heartbeats and pings come in between.
      await pauseMs(300);
      const startMs = performance.now();
      const response = await fetch(`${hub.url}/v1/rooms/${room}/participants`);
      await response.arrayBuffer();
      listMs.push(performance.now() - startMs);
    }
    await hub.child.kill();
    return measured(
      [
        { what: "share of a core", value: share, goal: 2, unit: "%" },
        { what: "join with its tunnel, CPU", value: joinMs, goal: 0.5, unit: "ms" },
        { what: "list", value: median(listMs), goal: 15, unit: "ms" },
      ],
      [`${count} participants`],
    );
  },
};
