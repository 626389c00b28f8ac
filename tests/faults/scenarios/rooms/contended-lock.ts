import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import type { Program } from "../../child.ts";
import type { ContenderHandlers, DeadlyCall } from "../../programs/lock-contender.ts";
import { must } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import type { World } from "../../world.ts";

type Contender = Program<ContenderHandlers>;

/** Of a machine that was started again since: stale, whatever runs under that pid. */
const staleLock = JSON.stringify({ pid: 1, startedAtMs: 1, bootId: "an earlier boot" });

export const contendedLock: Scenario = {
  id: "lock",
  title:
    "a stale lock of the state file has one new holder, however many take it at once and wherever one of them dies",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    const rounds = world.isQuick ? 30 : 300;
    const contenders = await Promise.all(Array.from({ length: 8 }, () => start(world)));
    let unequal = 0;
    for (const count of [2, 3, 4, 8]) {
      for (let round = 0; round < rounds; round++) {
        const winners = await contend(world, contenders.slice(0, count), `${count}-${round}`);
        if (winners !== 1) unequal++;
      }
    }
    world.fact(
      `a stale lock taken by 2, 3, 4 and 8 processes at once, ${rounds} rounds each: rounds without exactly one holder`,
      "0",
      String(unequal),
      unequal === 0,
    );
    for (const call of ["link", "rename", "readdir", "unlink"] as const) {
      await dieAndSucceed(world, call, contenders);
    }
  },
};

function start(world: World): Promise<Contender> {
  return world.children.program<ContenderHandlers>("lock-contender");
}

/** @returns how many got it */
async function contend(world: World, contenders: Contender[], name: string): Promise<number> {
  const folder = world.path(name);
  const path = `${folder}/rooms.json`;
  await mkdir(folder);
  await writeFile(`${path}.lock`, staleLock);
  const atMs = sharedNowMs() + 3;
  const ends = await Promise.all(contenders.map((one) => one.call("take", { path, atMs })));
  for (const end of ends) must(end.kind !== "failed", JSON.stringify(end));
  const winners = contenders.filter((_, index) => ends[index]?.kind === "won");
  const holder = JSON.parse(await readFile(`${path}.lock`, "utf8")) as { pid: number };
  must(
    winners.some(({ pid }) => pid === holder.pid),
    `the lock names ${holder.pid}, which did not get it`,
  );
  const files = await readdir(folder);
  must(files.join() === "rooms.json.lock", `beside the lock is ${files.join()}`);
  await Promise.all(contenders.map((one) => one.call("release")));
  return winners.length;
}

/** Several are killed one after the other at the same step of taking the lock over, and all the others try it after them. */
async function dieAndSucceed(
  world: World,
  call: DeadlyCall,
  contenders: Contender[],
): Promise<void> {
  const folder = world.path(`dead-at-${call}`);
  const path = `${folder}/rooms.json`;
  await mkdir(folder);
  await writeFile(`${path}.lock`, staleLock);
  for (let death = 0; death < 3; death++) {
    const victim = await start(world);
    await victim.call("dieAt", call);
    const end = await victim
      .call("take", { path, atMs: 0 })
      .catch(() => ({ kind: "dead" }) as const);
    must(end.kind === "dead", `a process that was to die at ${call} ended ${JSON.stringify(end)}`);
  }
  const left = await readdir(folder);
  const isTouched = left.length > 1 || (await readFile(`${path}.lock`, "utf8")) !== staleLock;
  must(isTouched, `deaths at ${call} left no trace`);
  const atMs = sharedNowMs() + 3;
  const ends = await Promise.all(contenders.map((one) => one.call("take", { path, atMs })));
  must(
    ends.filter(({ kind }) => kind === "won").length === 1 &&
      ends.every(({ kind }) => kind !== "failed"),
    `after deaths at ${call}: ${JSON.stringify(ends)}`,
  );
  const files = await readdir(folder);
  must(files.join() === "rooms.json.lock", `after deaths at ${call} there is ${files.join()}`);
  await Promise.all(contenders.map((one) => one.call("release")));
}
