import type { HubList } from "@roomhub/protocol";
import { createMemoryCluster } from "@roomhub/hub";
import { expect, test } from "vitest";
import { everyInterval } from "../../packages/hub/src/cluster/every.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";

const secret = Buffer.alloc(32, "cluster");

test("hubs that run under one id say so in their logs and lists, and a third one too", async () => {
  const shared = createMemoryCluster();
  // Presences are written every 20 ms instead of every 3 s.
  const every = (_intervalMs: number, action: () => void) => everyInterval(20, action);
  const start = (advertiseUrl: string) =>
    startTestHub({ cluster: { directory: shared.directory({ every }), secret, advertiseUrl } });
  await using one = await start("http://hub.example:5050");
  await using third = await start("http://other.example:5050");
  await using twin = await start("http://hub.example:5050");

  for (const hub of [one, twin, third])
    await until(
      "the warning",
      () => warnings(hub),
      ({ length }) => length > 0,
    );
  for (const hub of [one, twin]) {
    expect(warnings(hub)).toEqual([expect.stringContaining("another hub has the id of this one")]);
    expect(warnings(hub)[0]).toContain("http://hub.example:5050");
    expect((await hubsOf(hub))[0]).toMatchObject({
      link: "self",
      problem: "another hub has the same id: give each an --advertise URL of its own",
    });
  }
  expect(warnings(third)).toEqual([expect.stringContaining("two hubs have one id")]);
  expect((await hubsOf(third)).map(({ problem }) => problem)).toEqual([
    undefined,
    expect.stringContaining("another hub has the same id"),
  ]);
  expect(twin.log.filter((line) => line.includes("bug"))).toEqual([]);
});

function warnings({ log }: TestHub): string[] {
  return log.filter((line) => line.includes("--advertise"));
}

async function hubsOf(hub: TestHub) {
  return ((await (await hub.fetch("/v1/cluster/hubs")).json()) as HubList).hubs;
}
