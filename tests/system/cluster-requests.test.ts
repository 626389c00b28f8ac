import type { ParticipantSummary } from "@roomhub/protocol";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { postUnread } from "../support/clients/raw-http.ts";
import { join, joinDirect, joinTunnel, PATHS } from "../support/hub/joining.ts";
import {
  type ClusterHub,
  type ClusterHubOptions,
  startCluster,
  type TestCluster,
} from "../support/hub/start-cluster.ts";
import { type FakeProviderOptions, startFakeProvider } from "../support/providers/fake-provider.ts";

type Behave = FakeProviderOptions["behave"];

/** A room on two hubs: `owner` is where the participant joins, `entry` the other. */
async function twoHubs(behave?: Behave, limits?: ClusterHubOptions["limits"]) {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startFakeProvider({ behave }));
  const cluster = stack.use(await startCluster(2, { limits }));
  const [owner, entry] = cluster.hubs as [ClusterHub, ClusterHub];
  const code = await owner.createRoom();
  const owned = stack.move();
  return {
    ...{ provider, cluster, owner, entry, code },
    ask: (hub: ClusterHub, fields: object = {}, headers: Record<string, string> = {}) =>
      hub.fetch(`/rooms/${code}/v1/chat/completions`, {
        json: { model: "ada", messages: [{ role: "user", content: "hello" }], ...fields },
        headers: { "content-type": "application/json", ...headers },
      }),
    /** Resolves once the other hub can forward to it. */
    async ready(isReady: (one: ParticipantSummary) => boolean = () => true) {
      await seen(cluster, code, (one) => one.connection.readiness === "ready" && isReady(one));
      await cluster.linked();
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

async function seen(
  cluster: TestCluster,
  code: string,
  isWanted: (participant: ParticipantSummary) => boolean,
): Promise<void> {
  await cluster.everywhere(
    `/rooms/${code}/participants`,
    ({ participants }: { participants: ParticipantSummary[] }) => participants.some(isWanted),
  );
}

function generations(provider: Awaited<ReturnType<typeof startFakeProvider>>) {
  return provider.requests.filter(({ path }) => /completions|responses|messages/.test(path));
}

describe("a participant with one slot", () => {
  test("serves the requests of two hubs one after the other, and both hubs get their turns", async () => {
    let [running, most] = [0, 0];
    const order: string[] = [];
    await using lab = await twoHubs(({ json, path }) => {
      if (!path.includes("completions")) return undefined;
      order.push(String(json["user"]));
      most = Math.max(most, ++running);
      const gate = pause(15).then(() => void running--);
      return { kind: "normal", gate };
    });
    const config = { maxConcurrency: 1 };
    await using _ada = await joinTunnel(lab.owner, lab.code, {
      endpoint: lab.provider.url,
      config,
    });
    await lab.ready(({ load }) => load.limit === 1);
    const sent = [];
    for (let n = 0; n < 8; n++) {
      const key = (name: string) => ({ authorization: `Bearer roomhub-name-${name}` });
      sent.push(lab.ask(lab.owner, { user: "owner" }, key("owner")));
      sent.push(lab.ask(lab.entry, { user: "entry" }, key("entry")));
    }
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(most).toBe(1);
    // Neither hub has all its requests served before the other one's.
    const firstHalf = order.slice(0, 8).filter((name) => name === "entry").length;
    expect(firstHalf).toBeGreaterThanOrEqual(3);
    expect(firstHalf).toBeLessThanOrEqual(5);
  });

  test("is listed as busy at every hub while it is, and as free afterwards", async () => {
    const gate = Promise.withResolvers<void>();
    await using lab = await twoHubs(({ path }) =>
      path.includes("completions") ? { kind: "normal", gate: gate.promise } : undefined,
    );
    await using _ada = await joinTunnel(lab.owner, lab.code, { endpoint: lab.provider.url });
    await lab.ready();
    const running = lab.ask(lab.entry);
    await seen(lab.cluster, lab.code, ({ load }) => load.active === 1);
    gate.resolve();
    expect((await running).status).toBe(200);
    await seen(lab.cluster, lab.code, ({ load }) => load.active === 0);
  });
});

describe.each(PATHS)("a request that is forwarded to a participant by %s", (path) => {
  test("has the participant's model and private instructions, which no other hub knows", async () => {
    await using lab = await twoHubs();
    const config = { instructions: "the private instructions", temperature: 0.25 };
    const wishes = { endpoint: lab.provider.url, config };
    await using _ada = await join(path, lab.owner, lab.code, wishes);
    await lab.ready();
    const response = await lab.entry.fetch(`/rooms/${lab.code}/v1/responses`, {
      json: { model: "ada", input: "hello" },
    });
    expect(response.status).toBe(200);
    const { json } = generations(lab.provider).at(-1)!;
    expect(json).toMatchObject({ model: "fake-model", temperature: 0.25 });
    expect(JSON.stringify(json)).toContain("the private instructions");
    const listed = await lab.entry.fetch(`/rooms/${lab.code}/participants`);
    expect(await listed.text()).not.toContain("the private instructions");
  });

  test("is cancelled at the provider when its client leaves", async () => {
    await using lab = await twoHubs(({ path }) =>
      path.includes("completions") ? { kind: "hang-mid-stream" } : undefined,
    );
    await using _ada = await join(path, lab.owner, lab.code, { endpoint: lab.provider.url });
    await lab.ready();
    const events = await lab.entry.watch(lab.code);
    const response = await lab.ask(lab.entry, { stream: true });
    await lab.provider.waitFor(({ openGenerations }) => openGenerations === 1);
    await response.body?.cancel();
    await lab.provider.waitFor(({ aborted }) => aborted === 1);
    await events.waitFor("the end", () => events.of("llm.error").length === 1);
    expect(events.of("llm.error")[0]?.data).toMatchObject({ code: "client_disconnected" });
    await seen(lab.cluster, lab.code, ({ load }) => load.active === 0);
  });

  test("ends in an error frame when the home stops and it does not end in time", async () => {
    await using lab = await twoHubs(({ path }) =>
      path.includes("completions") ? { kind: "hang-mid-stream" } : undefined,
    );
    await using _ada = await join(path, lab.owner, lab.code, { endpoint: lab.provider.url });
    await lab.ready();
    const response = await lab.ask(lab.entry, { stream: true });
    await lab.provider.waitFor(({ openGenerations }) => openGenerations === 1);
    await lab.owner.hub.close();
    expect(await response.text()).toMatch(/hub_shutting_down|peer_unavailable/);
  });

  test("is cut where its client is connected when it reads nothing for too long", async () => {
    const pieces = Array<string>(600).fill("x".repeat(65_536));
    await using lab = await twoHubs(
      ({ path: asked }) => (asked.includes("completions") ? { kind: "normal", pieces } : undefined),
      { clientStallMs: 1_000 },
    );
    await using _ada = await join(path, lab.owner, lab.code, { endpoint: lab.provider.url });
    await lab.ready();
    const events = await lab.entry.watch(lab.code);
    const sent = { model: "ada", messages: [], stream: true };
    const url = `${lab.entry.url}/rooms/${lab.code}/v1/chat/completions`;
    const response = await postUnread(url, sent);
    await events.waitFor("the end", () => events.of("llm.error").length === 1);
    expect(events.of("llm.error")[0]?.data).toMatchObject({ code: "client_stalled" });
    const read: Buffer[] = [];
    const whole = (async () => {
      for await (const chunk of response) read.push(chunk as Buffer);
    })();
    await expect(whole).rejects.toThrow("aborted");
    expect(Buffer.concat(read).toString()).not.toContain("peer_unavailable");
  });

  test("passes a response of a megabyte to a slow reader whole", async () => {
    const bytes = 1_000_000;
    await using lab = await twoHubs(({ path }) =>
      path.includes("completions") ? { kind: "big-event", bytes } : undefined,
    );
    await using _ada = await join(path, lab.owner, lab.code, { endpoint: lab.provider.url });
    await lab.ready();
    const response = await lab.ask(lab.entry, { stream: true });
    let read = 0;
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      read += chunk.length;
      if (read < 50_000) await pause(1);
    }
    expect(read).toBeGreaterThan(bytes);
  });
});

test("a stream with detail that opens at one hub shows the next request of another in full", async () => {
  await using lab = await twoHubs();
  await using _ada = await joinDirect(lab.owner, lab.code, { endpoint: lab.provider.url });
  await lab.ready();
  const watched = await lab.entry.watch(lab.code, "dot", true);
  await (await lab.ask(lab.owner, { stream: true })).text();
  await watched.waitFor("the end", () => watched.of("llm.complete").length === 1);
  expect(watched.of("request.first")).toHaveLength(1);
});

describe("the credentials of a participant", () => {
  test("are taken out of what its provider says before another hub sees it", async () => {
    const secret = "sk-canary-0123456789abcdef";
    const echo = { error: { message: `Incorrect API key: ${secret}`, type: "auth" } };
    await using lab = await twoHubs(({ path }) =>
      path.includes("completions") ? { kind: "status", status: 400, body: echo } : undefined,
    );
    await using _ada = await joinDirect(lab.owner, lab.code, {
      endpoint: lab.provider.url,
      authHeaders: { authorization: `Bearer ${secret}` },
    });
    await lab.ready();
    const response = await lab.ask(lab.entry);
    const text = await response.text();
    expect(response.status).toBe(400);
    expect(text).toContain("Incorrect API key");
    expect(text).not.toContain("canary");
    expect(generations(lab.provider).at(-1)?.headers.authorization).toBe(`Bearer ${secret}`);
  });
});

describe("a conversation", () => {
  test("goes on at any hub with the response that another one has relayed", async () => {
    await using lab = await twoHubs();
    await using _ada = await joinTunnel(lab.owner, lab.code, { endpoint: lab.provider.url });
    await lab.ready();
    const respond = (hub: ClusterHub, fields: object) =>
      hub.fetch(`/rooms/${lab.code}/v1/responses`, {
        json: { model: "ada", input: "a", ...fields },
      });
    const first = (await (await respond(lab.entry, {})).json()) as { id: string };
    for (const hub of [lab.owner, lab.entry]) {
      const next = await respond(hub, { previous_response_id: first.id });
      expect([hub.port, next.status]).toEqual([hub.port, 200]);
    }
    const unknown = await respond(lab.entry, { previous_response_id: "resp_unknown" });
    expect(unknown.status).toBe(400);
    expect(await unknown.text()).toContain("previous_response_not_found");
  });

  test("is read at its maker through any hub, also one that did not relay it", async () => {
    await using lab = await twoHubs();
    await using _ada = await joinTunnel(lab.owner, lab.code, { endpoint: lab.provider.url });
    await lab.ready();
    const json = { model: "ada", input: "a", background: true };
    const first = await lab.owner.fetch(`/rooms/${lab.code}/v1/responses`, { json });
    const { id } = (await first.json()) as { id: string };
    const late = await lab.cluster.add();
    await lab.ready();
    for (const hub of [lab.entry, late]) {
      await hub.fetch(`/rooms/${lab.code}/v1/responses/${id}?from=${hub.port}`);
      expect(lab.provider.requests.at(-1)?.path).toContain(`/responses/${id}?from=${hub.port}`);
    }
    const unknown = await late.fetch(`/rooms/${lab.code}/v1/responses/resp_unknown`);
    expect([unknown.status, await unknown.text()]).toMatchObject([
      404,
      expect.stringContaining("response_not_found"),
    ]);
  });
});
