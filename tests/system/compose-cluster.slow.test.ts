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
    const code = await aRoom(url, "lab");

    const ids = ["p1", "p2", "p3"];
    for (const id of ids) {
      const provider = stack.use(await startFakeProvider());
      const options = ["--endpoint", provider.url, "--model", "fake-model", "--id", id, "--yes"];
      stack.use(await startParticipantProcess(url, code, options));
    }
    const chat = (model: string, stream = false) => chatIn(url, code, model, stream);
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

  test("takes a new version over one hub after the other, and no request fails", async () => {
    await using stack = new AsyncDisposableStack();
    const { url, hubs, start } = await startComposedCluster(stack);
    const urls = () => Object.values(hubs).map((hub) => hub.url);
    await linked(urls());
    const provider = stack.use(await startFakeProvider());
    const codes: string[] = [];
    for (const name of ["lab", "den", "bay"]) {
      const code = await aRoom(url, name);
      const options = ["--endpoint", provider.url, "--model", "fake-model", "--id", name, "--yes"];
      stack.use(await startParticipantProcess(url, code, options));
      codes.push(code);
    }
    const chat = (code: string, stream = false) => chatIn(url, code, "*", stream);
    for (const code of codes)
      await until(
        `a response in ${code}`,
        () => chat(code),
        ([status]) => status === 200,
      );

    const load = new AbortController();
    const unexpected: unknown[] = [];
    let count = 0;
    const ask = async (code: string) => {
      for (; !load.signal.aborted; count++) {
        const stream = count % 2 === 0;
        const [status, isWhole] = await chat(code, stream);
        if (status !== 200 || isWhole !== stream) unexpected.push([code, status, stream, isWhole]);
      }
    };
    const asking = [...codes, ...codes].map(ask);
    for (const name of Object.keys(hubs)) {
      await hubs[name]?.kill("SIGTERM");
      await start(name);
      await linked(urls());
    }
    load.abort();
    await Promise.all(asking);
    expect(unexpected).toEqual([]);
    expect(count).toBeGreaterThan(100);
  });
});

async function aRoom(url: string, name: string): Promise<string> {
  const created = await post(`${url}/rooms`, { name });
  return ((await created.json()) as { room: { code: string } }).room.code;
}

/** @returns the status, and whether it is a whole stream */
async function chatIn(url: string, code: string, model: string, stream: boolean) {
  const messages = [{ role: "user", content: "Hello" }];
  const response = await post(`${url}/rooms/${code}/v1/chat/completions`, {
    model,
    messages,
    stream,
  });
  return [response.status, (await response.text()).includes("[DONE]")];
}

function post(url: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}
