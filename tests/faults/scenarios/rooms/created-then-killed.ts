import { RoomhubClient, type RoomHost } from "@roomhub/client";
import { must, pauseMs } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { createRandom } from "../../seeded-random.ts";
import type { World } from "../../world.ts";

/** What a client knows of a room after its 201. */
interface Acknowledged {
  code: string;
  passwordProtected: boolean;
}

/** The keys of one closed room, as far as their creation or revocation was confirmed. */
class AcknowledgedKeys {
  readonly created = new Set<string>();
  readonly revoked = new Set<string>();
  #room: { code: string; hostToken: string } | undefined;
  #count = 0;

  async hostAt(api: RoomhubClient): Promise<RoomHost> {
    if (this.#room === undefined) {
      const { room, hostToken = "" } = await api.createRoom({ name: "closed", closed: true });
      this.#room = { code: room.code, hostToken };
    }
    const { code, hostToken } = this.#room;
    return api.asHost(code, { hostToken });
  }

  /** One key more, and one that was created in an earlier life less. */
  changes(host: RoomHost): Promise<unknown>[] {
    const name = `key-${++this.#count}`;
    const [oldest] = this.created;
    const created = host.createKey({ name }).then(() => this.created.add(name));
    if (oldest === undefined) return [created];
    // From now on it may be revoked, and is once that is confirmed.
    this.created.delete(oldest);
    return [created, host.revokeKey(oldest).then(() => this.revoked.add(oldest))];
  }

  /** @returns the keys that are not as the hub confirmed */
  async wrong(host: RoomHost): Promise<string[]> {
    const keys = await host.listKeys();
    const isThere = (name: string, isRevoked: boolean) =>
      keys.some((key) => key.name === name && (key.revokedAt !== undefined) === isRevoked);
    return [
      ...[...this.created].filter((name) => !isThere(name, false)),
      ...[...this.revoked].filter((name) => !isThere(name, true)),
    ];
  }
}

/** Rooms created at once in one life of a hub: the quick plain ones between those that need scrypt. */
const passwords = [undefined, "swordfish", undefined, "tuna", undefined];

/** Many hubs are started, on a busy machine too: its duration is not part of the goals. */
const startMs = 60_000;

export const createdThenKilled: Scenario = {
  id: "rooms",
  title:
    "a room or key whose creation was confirmed, and a confirmed revocation, survive a kill -9 at any moment",
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
    const keys = lanes.reduce(
      (sum, { keys: { created, revoked } }) => sum + created.size + revoked.size,
      0,
    );
    const wrong = lanes.flatMap((lane) => lane.wrong);
    must(keys > 0, "no key was created or revoked");
    world.fact(
      `the same while keys are created and revoked: keys that are not as confirmed, of ${keys}`,
      "0",
      String(wrong.length),
      wrong.length === 0,
    );
  },
};

async function playLives(world: World, lane: number, lives: number) {
  const random = createRandom(lane + 1);
  const acknowledged: Acknowledged[] = [];
  const missing: Acknowledged[] = [];
  const keys = new AcknowledgedKeys();
  const wrong: string[] = [];
  for (let life = 0; life < lives; life++) {
    const { api, kill } = await startHub(world, lane, life);
    await check(api, acknowledged, missing);
    const host = await keys.hostAt(api);
    wrong.push(...(await keys.wrong(host)));
    const changes = [...keys.changes(host), ...createRooms(api, acknowledged)];
    await settled(changes, Math.floor(random() * (changes.length + 1)));
    // Just after a response is the likeliest moment for a loss; some kills hit scrypt instead.
    await pauseMs(random() * (random() < 0.7 ? 5 : 150));
    await kill();
  }
  const { api, kill } = await startHub(world, lane, lives);
  await check(api, acknowledged, missing);
  wrong.push(...(await keys.wrong(await keys.hostAt(api))));
  await kill();
  return { acknowledged, missing, keys, wrong };
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

function createRooms(api: RoomhubClient, acknowledged: Acknowledged[]): Promise<unknown>[] {
  return passwords.map((password) =>
    api.createRoom({ name: "lab", password }).then(({ room }) => acknowledged.push(room)),
  );
}

/** Resolves when so many of the changes are confirmed; the others are still running. */
async function settled(changes: Promise<unknown>[], count: number): Promise<void> {
  const enough = Promise.withResolvers<void>();
  let confirmed = 0;
  if (count === 0) enough.resolve();
  for (const change of changes) {
    change.then(
      () => {
        if (++confirmed === count) enough.resolve();
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
