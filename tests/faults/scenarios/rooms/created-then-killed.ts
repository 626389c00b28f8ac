import { RoomhubClient } from "@roomhub/client";
import { must, pauseMs } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { createRandom } from "../../seeded-random.ts";
import type { World } from "../../world.ts";

/** What a client knows of a room after its 201. */
interface Acknowledged {
  code: string;
  passwordProtected: boolean;
}

/** Rooms created at once in one life of a hub: the quick plain ones between those that need scrypt. */
const passwords = [undefined, "swordfish", undefined, "tuna", undefined];

/** Many hubs are started, on a busy machine too: its duration is not part of the goals. */
const startMs = 60_000;

export const createdThenKilled: Scenario = {
  id: "rooms",
  title: "a room whose creation was confirmed survives a kill -9 at any moment",
  needs: ["proc"],
  isQuick: true,
  limitMs: 1_200_000,
  async run(world) {
    const lives = world.isQuick ? 8 : 200;
    // Two hubs with a file each, one per core.
    const lanes = await Promise.all([0, 1].map((lane) => playLives(world, lane, lives / 2)));
    const acknowledged = lanes.flatMap((lane) => lane.acknowledged);
    const missing = lanes.flatMap((lane) => lane.missing);
    must(acknowledged.length >= lives / 2, `only ${acknowledged.length} creations were answered`);
    world.fact(
      `${lives} times kill -9 while rooms are created: rooms missing, of ${acknowledged.length} acknowledged`,
      "0",
      String(missing.length),
      missing.length === 0,
    );
  },
};

async function playLives(world: World, lane: number, lives: number) {
  const random = createRandom(lane + 1);
  const acknowledged: Acknowledged[] = [];
  const missing: Acknowledged[] = [];
  for (let life = 0; life < lives; life++) {
    const { api, kill } = await startHub(world, lane, life);
    await check(api, acknowledged, missing);
    const answers = Math.floor(random() * (passwords.length + 1));
    await createUntil(api, acknowledged, answers);
    // Just after a response is the likeliest moment for a loss; some kills hit scrypt instead.
    await pauseMs(random() * (random() < 0.7 ? 5 : 150));
    await kill();
  }
  const { api, kill } = await startHub(world, lane, lives);
  await check(api, acknowledged, missing);
  await kill();
  return { acknowledged, missing };
}

async function startHub(world: World, lane: number, life: number) {
  const child = world.children.roomhub({
    args: ["serve", "--port", "0", "--state-file", world.path(`rooms-${lane}.json`)],
    env: { ROOMHUB_ROOM_CREATION_BURST: "1000" },
    outputPath: world.path(`hub-${lane}-${life}.log`),
  });
  const { url } = await child.line("where it listens", (line) => "url" in line, startMs);
  return { api: new RoomhubClient({ hubUrl: String(url) }), kill: () => child.kill("SIGKILL") };
}

/** Resolves when so many of the creations are confirmed; the others are still running. */
async function createUntil(
  api: RoomhubClient,
  acknowledged: Acknowledged[],
  answers: number,
): Promise<void> {
  const enough = Promise.withResolvers<void>();
  let answered = 0;
  if (answers === 0) enough.resolve();
  for (const password of passwords) {
    api.createRoom({ name: "lab", password }).then(
      ({ room }) => {
        acknowledged.push(room);
        if (++answered === answers) enough.resolve();
      },
      () => {
        // Killed before its response: nothing was promised.
      },
    );
  }
  await enough.promise;
}

async function check(
  api: RoomhubClient,
  acknowledged: readonly Acknowledged[],
  missing: Acknowledged[],
): Promise<void> {
  const listed = new Map((await api.listRooms()).map((room) => [room.code, room]));
  for (const room of acknowledged) {
    const found = listed.get(room.code);
    if (found?.passwordProtected === room.passwordProtected || missing.includes(room)) continue;
    missing.push(room);
  }
}
