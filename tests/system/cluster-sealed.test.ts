import type { HubList } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { type Middle, startMiddle } from "../support/hub/middle.ts";
import { startCluster } from "../support/hub/start-cluster.ts";
import type { TestHub } from "../support/hub/start-test-hub.ts";
import { pinOf, testCertificate } from "../support/hub/test-certificate.ts";
import { freePort } from "../support/programs/nginx.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

const canary = "canary-7f3a";

/**
 * Two hubs, each with a certificate of its own and an attacker in front of it, who is the same for both. The first one is the
 * home of the room.
 *
 * @param between - whom the attacker stands between: the hubs, or agents and hubs
 */
async function startSealed(between: "hubs" | "agents", mode: Middle["mode"]) {
  const stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster(0));
  const add = async () => {
    const port = await freePort();
    const middle = stack.use(await startMiddle(port));
    middle.mode = mode;
    const [attacked, direct] = [middle.port, port].map((at) => `http://127.0.0.1:${at}`);
    const [linkUrl, advertiseUrl] = between === "hubs" ? [attacked, direct] : [direct, attacked];
    const pair = testCertificate();
    const pin = pinOf(pair);
    const hub = await cluster.add({
      ...{ port, tls: { ...pair, pin }, cluster: { linkUrl, advertiseUrl } },
    });
    const at = (url = "") => `${url.replace("http:", "https:")}#pin=${pin}`;
    return { ...hub, middle, pin, invite: at(direct), advertised: at(advertiseUrl) };
  };
  const [home, other] = [await add(), await add()];
  const code = await home.createRoom();
  await home.fetch(`/rooms/${code}/participants`);
  const provider = stack.use(await startFakeProvider());
  return {
    ...{ cluster, home, other, code },
    join: (hubUrl: string) =>
      joinTunnel({ url: hubUrl }, code, { id: "ada", endpoint: provider.url }),
    ask: (hub: typeof home) =>
      hub.fetch(`/rooms/${code}/v1/chat/completions`, {
        json: { model: "*", messages: userSays(canary) },
      }),
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

async function linksOf(hub: TestHub): Promise<HubList["hubs"]> {
  const { hubs } = (await (await hub.fetch("/v1/cluster/hubs")).json()) as HubList;
  return hubs.filter(({ link }) => link !== "self");
}

function expectNothingInClear({ read, wire }: Middle): void {
  expect(read).toEqual([]);
  expect(Buffer.concat(wire).toString("latin1")).not.toMatch(/canary|HTTP\/1|roomhub-hop|rhp_/);
}

test("hubs with certificates of their own know one another's keys, and what passes between them is sealed", async () => {
  await using sealed = await startSealed("hubs", "honest");
  const { cluster, home, other } = sealed;
  await cluster.linked();
  expect(await linksOf(other)).toMatchObject([{ url: home.advertised, link: "open" }]);
  await using _ada = await sealed.join(home.url);
  const response = await sealed.ask(other);
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining(canary)]);
  expect(home.middle.wire.length).toBeGreaterThan(0);
  for (const { middle } of [home, other]) expectNothingInClear(middle);
});

test.each(["attacking", "stripping"] as const)(
  "an attacker with a certificate between two hubs is given nothing, and the hubs say why they are apart: %s",
  async (mode) => {
    await using sealed = await startSealed("hubs", mode);
    const { home, other } = sealed;
    // The hub with the lower id dials.
    const problems = {
      attacking: new RegExp(`expected (?:${home.pin}|${other.pin}), found sha256-`),
      stripping: /no TLS connection/,
    };
    const links = async () => [...(await linksOf(home)), ...(await linksOf(other))];
    const seen = await until("the refused link", links, (found) =>
      found.some(({ problem = "" }) => problems[mode].test(problem)),
    );
    expect(seen.map(({ link }) => link)).not.toContain("open");
    for (const { middle } of [home, other]) {
      if (mode === "attacking") expectNothingInClear(middle);
      // The first bytes of handshakes, in which nothing is secret.
      else expect(middle.read.join("")).not.toMatch(/roomhub-hop|HTTP|GET/);
    }
  },
);

test("an agent follows a 421 to the home of its room with the key that it names", async () => {
  await using sealed = await startSealed("agents", "honest");
  const { cluster, home, other } = sealed;
  await cluster.linked();
  await using _ada = await sealed.join(other.invite);
  const before = home.middle.wire.length;
  expect(before).toBeGreaterThan(0);
  expect(await (await sealed.ask(home)).text()).toContain(canary);
  expect(home.middle.wire.length).toBeGreaterThan(before);
  expectNothingInClear(home.middle);
});

test("an agent gives an attacker in front of the home nothing, and is served through the hub that it was invited to", async () => {
  await using sealed = await startSealed("agents", "attacking");
  const { cluster, home, other } = sealed;
  await cluster.linked();
  await using _ada = await sealed.join(other.invite);
  expect(await (await sealed.ask(home)).text()).toContain(canary);
  expectNothingInClear(home.middle);
});

test("an agent whose hub ends joins at another one with the key that its hub has named", async () => {
  await using sealed = await startSealed("agents", "honest");
  const { cluster, home, other, code } = sealed;
  await cluster.linked();
  await using _ada = await sealed.join(other.invite);
  await other.hub.close();
  const before = home.middle.wire.length;
  home.middle.cut();
  await until(
    "ada at the other hub",
    () => home.client.getParticipant(code, "ada"),
    ({ connection }) => "connected" in connection && connection.connected,
    20_000,
  );
  expect(home.middle.wire.length).toBeGreaterThan(before);
  expectNothingInClear(home.middle);
});
