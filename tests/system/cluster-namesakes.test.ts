import type { HubList } from "@roomhub/protocol";
import { createHub } from "@roomhub/hub";
import { createMemoryCluster } from "../../packages/hub/src/cluster/memory-cluster.fixture.ts";
import { expect, onTestFinished, test } from "vitest";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";

const secret = Buffer.alloc(32, "cluster");
const [sharedUrl, otherUrl] = ["http://hub.example:5050", "http://other.example:5050"];

/** Hubs that share what they know. */
function makeCluster() {
  const shared = createMemoryCluster();
  return (advertiseUrl: string, directory = shared.directory()) => {
    const cluster = { directory, secret, advertiseUrl };
    return { directory, cluster, start: () => startTestHub({ cluster }) };
  };
}

test("a hub under whose id another one runs does not start, and nothing changes for the others", async () => {
  const hubAt = makeCluster();
  await using one = await hubAt(sharedUrl).start();
  await using third = await hubAt(otherUrl).start();
  await until(
    "the other",
    () => hubsOf(third),
    ({ length }) => length === 2,
  );
  // The name of a hub leads nowhere here, which is a problem once it was dialled.
  const facts = async () => (await hubsOf(third)).map(({ problem: _problem, ...hub }) => hub);
  const before = await facts();

  const { cluster } = hubAt(sharedUrl);
  const twin = createHub({ port: 0, cluster: { ...cluster, linkUrl: sharedUrl } });
  onTestFinished(async () => void (await twin.close()));
  await expect(twin.listen()).rejects.toMatchObject({
    name: "HubIdTaken",
    message: expect.stringMatching(/running since 20.*hub\.example:5050.*hub\.example:5050/),
  });
  await twin.close();
  expect(await facts()).toEqual(before);
  expect([warnings(one), warnings(third)]).toEqual([[], []]);
});

test("a hub starts under the id of one that was killed just now, and of one that is stopping", async () => {
  const hubAt = makeCluster();
  await using third = await hubAt(otherUrl).start();
  const first = hubAt(sharedUrl);
  await using killed = await first.start();
  first.directory.cutOff();
  await using second = await hubAt(sharedUrl).start();
  const stopping = second.hub.close();
  await using last = await hubAt(sharedUrl).start();
  await stopping;

  const [{ bootId } = { bootId: "" }] = await hubsOf(last);
  await until(
    "the last one",
    () => hubsOf(third),
    (hubs) => hubs.some((hub) => hub.bootId === bootId),
  );
  expect([killed, second, last, third].flatMap(warnings)).toEqual([]);
});

test("hubs that start under one id at the same moment say so in their logs and lists", async () => {
  const hubAt = makeCluster();
  const [one, twin] = await Promise.all([hubAt(sharedUrl).start(), hubAt(sharedUrl).start()]);
  await using both = new AsyncDisposableStack();
  for (const hub of [both.use(one), both.use(twin)]) {
    const [warning] = await until(
      "the warning",
      () => warnings(hub),
      ({ length }) => length > 0,
    );
    expect(warning).toContain("another hub has the id of this one");
    expect(warning).toContain(sharedUrl);
    expect((await hubsOf(hub))[0]).toMatchObject({
      link: "self",
      problem: "another hub has the same id: give each an --advertise URL of its own",
    });
  }
});

function warnings({ log }: TestHub): string[] {
  return log.filter((line) => line.includes("--advertise"));
}

async function hubsOf(hub: TestHub) {
  return ((await (await hub.fetch("/v1/cluster/hubs")).json()) as HubList).hubs;
}
