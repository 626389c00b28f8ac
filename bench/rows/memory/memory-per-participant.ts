import { within } from "../../../tests/support/waiting.ts";
import {
  hubTarget,
  idsOf,
  joinByTunnel,
  joinCrowd,
  openRoom,
  startHub,
} from "../../processes/hub.ts";
import { settledRssBytes } from "../../figures/memory.ts";
import { measured, type Row } from "../../row.ts";
import { warmUp } from "../../load/warm-up.ts";

const perRoom = 500;

export const memoryPerParticipant: Row = {
  id: "10",
  title: "hub memory per idle participant with a tunnel, 4,000",
  seconds: { full: 25, quick: 9 },
  async run(world) {
    const rooms = world.either(8, 2);
    const hub = await startHub(world);
    // The first ones cost compiled code and a heap that grows, which is not memory per participant.
    const first = await openRoom(hub);
    await joinByTunnel(world, hub.url, first, { count: 20, prefix: "first" });
    await warmUp(world, hubTarget("tunnel", hub, first, idsOf("first", 20)));
    const before = await settledRssBytes(hub.child);
    const [left, right] = await Promise.all([fill(rooms / 2), fill(rooms / 2)]);
    const count = left + right;
    const after = await settledRssBytes(hub.child);
    await hub.child.kill();
    const value = (after - before) / count / 1_000;
    const mb = [before, after].map((bytes) => (bytes / 1e6).toFixed(0)).join(" → ");
    return measured(
      [{ what: "per participant", value, goal: 25, unit: "KB" }],
      [`${count} participants: ${mb} MB`],
    );

    async function fill(roomCount: number): Promise<number> {
      for (let index = 0; index < roomCount; index++) {
        const room = await openRoom(hub);
        const joining = joinCrowd(world, hub.url, room, { count: perRoom, prefix: "idle-" });
        await within(joining, `${perRoom} participants to join`, 60_000);
      }
      return roomCount * perRoom;
    }
  },
};
