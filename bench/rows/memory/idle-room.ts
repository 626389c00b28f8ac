import { pauseMs } from "../../../tests/faults/figure.ts";
import { fineCpuMsOf } from "../../figures/process-cpu.ts";
import { median } from "../../figures/spread.ts";
import { type BenchHub, joinByTunnel, joinCrowd, openRoom, startHub } from "../../processes/hub.ts";
import { Connection } from "../../load/connection.ts";
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
    const lists = await listsOf(hub, room, world.either(20, 8));
    await hub.child.kill();
    return measured(
      [
        { what: "share of a core", value: share, goal: 2, unit: "%" },
        { what: "join with its tunnel, CPU", value: joinMs, goal: 0.5, unit: "ms" },
        { what: "list", value: median(lists.map(({ ms }) => ms)), goal: 15, unit: "ms" },
        {
          ...{ what: "list, CPU of the hub", goal: undefined, unit: "ms" },
          value: median(lists.map(({ cpuMs }) => cpuMs)),
        },
      ],
      [`${count} participants`],
    );
  },
};

/** Times of the whole list on a bare socket, and what the hub takes of them. */
async function listsOf({ port, child }: BenchHub, room: string, rounds: number) {
  const lists: { ms: number; cpuMs: number }[] = [];
  const request = `GET /v1/rooms/${room}/participants HTTP/1.1\r\nhost: hub.example\r\n\r\n`;
  for (let round = 0; round < rounds; round++) {
    // Heartbeats and pings come in between.
    await pauseMs(300);
    const whole = Promise.withResolvers<number>();
    const connection = new Connection({ port }, Buffer.from(request), {
      ...{ onFirstByte() {}, onTokens() {} },
      onResponse(status, _bytes, ms) {
        if (status === 200) whole.resolve(ms);
        else whole.reject(new Error(`the list had status ${status}`));
      },
      onBroken: (why) => whole.reject(new Error(why)),
    });
    const beforeMs = fineCpuMsOf(child.pid);
    connection.send();
    const ms = await whole.promise;
    lists.push({ ms, cpuMs: fineCpuMsOf(child.pid) - beforeMs });
    connection.close();
  }
  return lists;
}
