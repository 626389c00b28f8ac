import { describe, expect, test } from "vitest";
import { resolveHubConfig } from "../hosting/hub-config.ts";
import { makeWorld } from "../test-context.fixture.ts";
import { WORKER } from "./worker-env.ts";
import { withoutWorkers } from "./worker-process.ts";
import { runWorkers, workerCount } from "./workers.ts";

/** A supervisor whose workers end when the test says so. */
async function supervise(count: number, env: Record<string, string> = {}) {
  const world = makeWorld();
  world.context.env = env;
  const started: { env: Readonly<Record<string, string>>; end: (code: number) => void }[] = [];
  const events: string[] = [];
  const pauses: { ms: number; over: () => void }[] = [];
  world.context.startWorker = (workerEnv) => {
    const { promise: exited, resolve: end } = Promise.withResolvers<number>();
    started.push({ env: workerEnv, end });
    return { exited, stop: () => end(0) };
  };
  world.context.startOwnNats = async ({ folder }) => {
    events.push(`nats in ${folder ?? "a folder of its own"}`);
    return { env: { ROOMHUB_NATS: "nats://own" }, close: async () => void events.push("closed") };
  };
  world.context.after = (ms, over) => {
    pauses.push({ ms, over });
    return () => {};
  };
  const stop = new AbortController();
  const config = await resolveHubConfig(world.context, {});
  const code = runWorkers(world.context, config, count, stop.signal);
  await new Promise(setImmediate);
  return { world, started, events, pauses, code, stop: () => stop.abort() };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("several workers", () => {
  test("have ids of their own, and of them one speaks", async () => {
    const { started, stop, code } = await supervise(3);
    const ids = started.map(({ env }) => env[WORKER.hubId]);
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => /^[0-9a-f]{16}$/.test(id ?? ""))).toBe(true);
    expect(started.map(({ env }) => env[WORKER.isFirst])).toEqual(["1", undefined, undefined]);
    stop();
    expect(await code).toBe(0);
  });

  test("share a nats-server of the command, which ends after them", async () => {
    const { started, events, stop, code } = await supervise(1);
    expect(started[0]?.env["ROOMHUB_NATS"]).toBe("nats://own");
    stop();
    await code;
    expect(events).toEqual(["nats in /state/workers-5050", "closed"]);
  });

  test("use the NATS that is configured", async () => {
    const { started, events, stop, code } = await supervise(1, { ROOMHUB_NATS: "nats://n1" });
    expect(started[0]?.env["ROOMHUB_NATS"]).toBeUndefined();
    stop();
    await code;
    expect(events).toEqual([]);
  });

  test("are started again under the same id, later after each failure", async () => {
    const { world, started, pauses, stop, code } = await supervise(1);
    for (const expectedMs of [250, 500, 1_000]) {
      started.at(-1)?.end(1);
      await settled();
      expect(pauses.at(-1)?.ms).toBe(expectedMs);
      pauses.at(-1)?.over();
      await settled();
    }
    expect(new Set(started.map(({ env }) => env[WORKER.hubId])).size).toBe(1);
    expect(world.stderr.text).toContain("! Worker 1 ended with code 1; it is started again");
    stop();
    expect(await code).toBe(0);
  });

  test("are not started again with arguments that cannot work", async () => {
    const { started, code } = await supervise(1);
    started[0]?.end(2);
    expect(await code).toBe(2);
    expect(started).toHaveLength(1);
  });

  test("need a port that all of them know", async () => {
    const world = makeWorld();
    const config = await resolveHubConfig(world.context, { port: 0 });
    const running = runWorkers(world.context, config, 2, new AbortController().signal);
    await expect(running).rejects.toThrow("--workers needs a port");
  });
});

test("a worker gets the arguments of its supervisor, but for their number", () => {
  expect(withoutWorkers(["serve", "--workers", "4", "--port", "1"])).toEqual([
    ...["serve", "--port", "1"],
  ]);
  expect(withoutWorkers(["serve", "--workers=4"])).toEqual(["serve"]);
});

test.each(["0", "x", "-1", "100", "1.5"])("%s is no number of workers", (text) => {
  expect(() => workerCount(text)).toThrow("from 1 to 99");
});
