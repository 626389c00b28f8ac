import { expect, test } from "vitest";
import {
  aPresence,
  aStoredRoom,
  describeDirectory,
  type DirectoryLab,
  Replica,
} from "./directory-compliance.fixture.ts";
import { describeHomes } from "./homes/homes-compliance.fixture.ts";
import { createMemoryCluster, type MemoryDirectory } from "./memory-cluster.fixture.ts";

async function createLab(): Promise<DirectoryLab> {
  const cluster = createMemoryCluster();
  return {
    directory: (onWarning = () => {}) => cluster.directory({ onWarning }),
    cutOff: async (directory) => (directory as MemoryDirectory).cutOff(),
    heal: async (directory) => (directory as MemoryDirectory).heal(),
    close: async () => {},
  };
}

describeDirectory("memory", createLab);
describeHomes("memory", createLab);

test("a memory directory beats every 3 s with what the hub is then", async () => {
  const cluster = createMemoryCluster();
  const watching = cluster.directory();
  const replica = new Replica();
  await watching.open(replica);
  let tick = () => {};
  let periodMs = 0;
  const every = (intervalMs: number, action: () => void) => {
    [periodMs, tick] = [intervalMs, action];
    return () => {};
  };
  const announcing = cluster.directory({ every });
  await announcing.open(new Replica());
  let beat = 0;
  announcing.announce(() => aPresence("00000000000000aa", ++beat));
  tick();
  await replica.until(
    "the second beat",
    () => (replica.hubs.get("00000000000000aa")?.beat ?? 0) > 1,
  );
  expect(periodMs).toBe(3_000);
  await announcing.close();
  await watching.close();
});

test("a memory directory holds back what its user delivers later", async () => {
  const cluster = createMemoryCluster();
  const held: (() => void)[] = [];
  let isHolding = false;
  const slow = cluster.directory({
    deliver: (action) => (isHolding ? held.push(action) : queueMicrotask(action)),
  });
  const replica = new Replica();
  await slow.open(replica);
  isHolding = true;
  await slow.putRoom(aStoredRoom("AB23CD"), 0);
  expect(replica.rooms.size).toBe(0);
  for (const deliver of held) deliver();
  expect(replica.rooms.size).toBe(1);
  await slow.close();
});
