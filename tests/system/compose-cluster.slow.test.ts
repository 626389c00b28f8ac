import type { HubList } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { hasOpenssl } from "../support/programs/certificate.ts";
import { startComposedCluster } from "../support/programs/composed-cluster.ts";
import { hasHaproxy } from "../support/programs/haproxy.ts";
import { hasNatsServer } from "../support/programs/nats-server.ts";
import { startParticipantProcess } from "../support/programs/roomhub-process.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

const isPossible = process.platform === "linux" && hasHaproxy && hasNatsServer && hasOpenssl;
const skipped = isPossible ? "" : " (skipped: it needs Linux, haproxy, nats-server and openssl)";

async function hubsOf(url: string): Promise<HubList["hubs"]> {
  return ((await (await fetch(`${url}/v1/cluster/hubs`)).json()) as HubList).hubs;
}

/** Each hub has a link to each other one. */
async function linked(urls: readonly string[]): Promise<void> {
  for (const url of urls) {
    await until(
      `the links of ${url}`,
      () => hubsOf(url),
      (hubs) => hubs.length === 3 && hubs.every(({ link }) => link !== "down"),
    );
  }
}

describe.skipIf(!isPossible)(`the cluster of the compose file, as processes${skipped}`, () => {
  test("serves participants and clients through the balancer, and goes on without one hub", async () => {
    await using stack = new AsyncDisposableStack();
    const { url, hubs, start } = await startComposedCluster(stack);
    await linked(Object.values(hubs).map((hub) => hub.url));
    const created = await post(`${url}/rooms`, { name: "lab" });
    const { room } = (await created.json()) as { room: { code: string } };

    const ids = ["p1", "p2", "p3"];
    for (const id of ids) {
      const provider = stack.use(await startFakeProvider());
      const options = ["--endpoint", provider.url, "--model", "fake-model", "--id", id, "--yes"];
      stack.use(await startParticipantProcess(url, room.code, options));
    }
    const chat = async (model: string, stream = false) => {
      const messages = [{ role: "user", content: "Hello" }];
      const path = `/rooms/${room.code}/v1/chat/completions`;
      const response = await post(url + path, { model, messages, stream });
      return [response.status, (await response.text()).includes("[DONE]")];
    };
    const served = (id: string) => {
      const holds = ([status]: unknown[]) => status === 200;
      return until(`a response of ${id}`, () => chat(id), holds);
    };
    for (const id of ids) await served(id);
    expect(await chat("p1", true)).toEqual([200, true]);

    const { url: busiest } = (await hubsOf(url)).toSorted(
      (one, other) => other.participants - one.participants,
    )[0] ?? { url: "" };
    const [killed = ""] = Object.entries(hubs).find(([, hub]) => hub.url === busiest) ?? [];
    await hubs[killed]?.kill("SIGKILL");
    for (const id of ids) await served(id);
    for (let n = 0; n < 30; n++)
      expect(await chat(ids[n % 3] ?? "", n % 2 === 0)).toEqual([200, n % 2 === 0]);

    await start(killed);
    await linked(Object.values(hubs).map((hub) => hub.url));
    expect(await chat("*")).toEqual([200, false]);
  });
});

function post(url: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}
