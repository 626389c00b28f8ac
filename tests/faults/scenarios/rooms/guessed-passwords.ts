import { RoomhubClient } from "@roomhub/client";
import { inMs, must } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { createRandom } from "../../seeded-random.ts";
import type { World } from "../../world.ts";

const addresses = 120;
const guessesEach = 5;

/** Many hubs are started, on a busy machine too: its duration is not part of the goals. */
const startMs = 60_000;

export const guessedPasswords: Scenario = {
  id: "guesses",
  title:
    "after a restart a right password is answered at once while 120 addresses guess, and sixty guesses are checked",
  needs: ["proc"],
  isQuick: true,
  limitMs: 600_000,
  async run(world) {
    const rounds = world.isQuick ? 1 : 5;
    const random = createRandom(1);
    const { api, kill } = await startHub(world, 0);
    const { room } = await api.createRoom({ name: "lab", password: "swordfish" });
    await kill();
    const tookMs: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      tookMs.push(await guessAndJoin(world, round, room.code, Math.floor(random() * 30)));
    }
    const longestMs = Math.max(...tookMs);
    world.figure(
      `a right password while ${addresses} addresses guess after a restart: answered, longest of ${rounds}`,
      "≤ 1 s",
      inMs(longestMs),
      longestMs <= 1_000,
    );
  },
};

/** @returns ms until a new address with the right password, that comes after so many wrong ones, is in */
async function guessAndJoin(world: World, round: number, code: string, after: number) {
  const { url, kill } = await startHub(world, round);
  const begun = Promise.withResolvers<void>();
  let wrong = 0;
  let throttled = 0;
  const guesses = Array.from({ length: addresses * guessesEach }, async (_, index) => {
    const status = await join(url, code, `10.0.0.${index % addresses}`, `tuna ${index}`);
    if (status === 401) wrong++;
    if (status === 429) throttled++;
    if (wrong >= after) begun.resolve();
  });
  const answered = Promise.all(guesses);
  answered.catch(() => {}); // Should this round fail before it is awaited, the hub is killed under it.
  await begun.promise;
  const sentMs = performance.now();
  const status = await join(url, code, "10.0.1.1", "swordfish");
  const tookMs = performance.now() - sentMs;
  must(status === 201, `the right password was answered ${status}`);
  await answered;
  must(wrong === 60, `${wrong} guesses were checked`);
  must(wrong + throttled === guesses.length, `${guesses.length - wrong - throttled} got no answer`);
  await kill();
  return tookMs;
}

async function startHub(world: World, life: number) {
  const child = world.children.roomhub({
    args: [
      ...["serve", "--port", "0", "--state-file", world.path("rooms.json")],
      ...["--trust-proxy", "127.0.0.1"],
    ],
    outputPath: world.path(`hub-${life}.log`),
  });
  const url = String(
    (await child.line("where it listens", (line) => "url" in line, startMs))["url"],
  );
  return { url, api: new RoomhubClient({ hubUrl: url }), kill: () => child.kill("SIGKILL") };
}

/** @param address - as a trusted proxy forwards it */
async function join(url: string, code: string, address: string, password: string): Promise<number> {
  const participant = { id: address, nickname: address, model: "m", transport: "tunnel" };
  const response = await fetch(`${url}/rooms/${code}/join`, {
    method: "POST",
    headers: { "x-forwarded-for": address },
    body: JSON.stringify({ ...participant, endpoint: "http://10.0.0.1:9/v1", password }),
  });
  await response.arrayBuffer();
  return response.status;
}
