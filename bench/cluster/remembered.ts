import { inMib } from "../../tests/faults/figure.ts";
import { until } from "../../tests/support/waiting.ts";
import type { ClusterMeasurement } from "./hop.ts";

const rooms = 40;
const perRoom = 250;

/** What a hub needs for participants that another hub owns. */
export const rememberedParticipants: ClusterMeasurement = {
  title: "memory of a hub for 10,000 participants of another one",
  measure: async (_world, { owner, entry }) => {
    const beforeBytes = entry.child.rssBytes();
    let last = "";
    for (let room = 0; room < rooms; room++) {
      last = (await owner.api.createRoom({ name: `crowd ${room}` })).room.code;
      const code = last;
      const joins = Array.from({ length: perRoom }, (_, n) =>
        owner.api.join(code, {
          ...{ id: `p-${n}`, nickname: `P ${n}`, model: "tiny", transport: "tunnel" },
          endpoint: "http://127.0.0.1:9/v1",
        }),
      );
      await Promise.all(joins);
    }
    await until(
      "all participants to be known",
      () => entry.api.listParticipants(last),
      (listed) => listed.length === perRoom,
      20_000,
    );
    const grownBytes = entry.child.rssBytes() - beforeBytes;
    return {
      figures: [
        { what: "10,000 participants", value: grownBytes / 1024 ** 2, goal: 20, unit: "MB" },
      ],
      seen: [`${inMib(beforeBytes)} before; garbage of their coming included`],
    };
  },
};
