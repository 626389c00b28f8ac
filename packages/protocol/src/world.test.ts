import { expect, test, vi } from "vitest";
import { SimulatedWorld } from "./simulated-world.fixture.ts";
import { systemWorld } from "./system-world.ts";
import { pause, randomBelow, timeoutSignal, type World } from "./world.ts";

test("a pause ends when its time has passed", async () => {
  const world = new SimulatedWorld();
  const ended = vi.fn();
  void pause(world, 100).then(ended);
  await world.advance(99);
  expect(ended).not.toHaveBeenCalled();
  await world.advance(1);
  expect(ended).toHaveBeenCalledOnce();
});

test("a pause ends as soon as its signal aborts, and leaves no timer", async () => {
  const world = new SimulatedWorld();
  const abort = new AbortController();
  const paused = pause(world, 100, abort.signal);
  abort.abort();
  await paused;
  await pause(world, 100, abort.signal);
  expect(world.timers).toBe(0);
});

test("a timeout signal aborts with the error of AbortSignal.timeout()", async () => {
  const world = new SimulatedWorld();
  const signal = timeoutSignal(world, 100);
  await world.advance(99);
  expect(signal.aborted).toBe(false);
  await world.advance(1);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});

test("a simulated world runs tasks in the order of their time and repeats its random numbers", async () => {
  const world = new SimulatedWorld();
  const ran: string[] = [];
  world.setTimeout(() => ran.push(`timeout ${world.monotonicMs()}`), 25);
  const interval = world.setInterval(() => ran.push(`interval ${world.monotonicMs()}`), 10);
  const cleared = world.setImmediate(() => ran.push("cleared"));
  world.clearImmediate(cleared);
  world.setImmediate(() => ran.push("immediate"));
  await world.advance(30);
  world.clearInterval(interval);
  await world.advance(100);
  expect(ran).toEqual(["immediate", "interval 10", "interval 20", "timeout 25", "interval 30"]);
  expect(world.random()).toBe(new SimulatedWorld().random());
});

test("the system's world runs what is not cleared", async () => {
  const ran = vi.fn();
  systemWorld.clearTimeout(systemWorld.setTimeout(ran, 0));
  systemWorld.clearInterval(systemWorld.setInterval(ran, 0));
  systemWorld.clearImmediate(systemWorld.setImmediate(ran));
  systemWorld.clearTimeout(undefined);
  await new Promise<void>((resolve) => systemWorld.unref(systemWorld.setTimeout(resolve, 2)));
  await new Promise<void>((resolve) => systemWorld.setImmediate(resolve));
  expect(ran).not.toHaveBeenCalled();
});

test("a number below a bound is as likely as any other: bytes that would favour small ones are drawn again", () => {
  const bytes = [255, 248, 247, 0];
  const world: World = {
    ...systemWorld,
    randomBytes: () => Uint8Array.from([bytes.shift() ?? 0]),
  };
  expect([randomBelow(world, 31), randomBelow(world, 31)]).toEqual([30, 0]);
  expect(bytes).toEqual([]);
});
