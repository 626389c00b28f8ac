import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { fileRoomStore, memoryRoomStore } from "@roomhub/hub";
import type { Key, NewKey, RouteExplanation } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { sendBytes } from "../support/clients/raw-http.ts";
import { connectResponses } from "../support/clients/responses-client.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { startCluster } from "../support/hub/start-cluster.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { startRoutedProvider } from "../support/providers/routed-provider.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { createGate, until } from "../support/waiting.ts";

/** A closed room, and a key with these limits. */
async function roomWithKey(hub: TestHub, fields: object) {
  const response = await hub.fetch("/rooms", { json: { name: "lab", closed: true } });
  const { room, hostToken, key } = (await response.json()) as {
    room: { code: string };
    hostToken: string;
    key: NewKey;
  };
  const path = `/rooms/${room.code}`;
  const created = await hub.fetch(`${path}/keys`, {
    json: { name: "ada", ...fields },
    headers: { "x-host-token": hostToken },
  });
  const limited = ((await created.json()) as { key: NewKey }).key;
  return { limited, ...roomAt(hub, path, hostToken, { host: key.value, ada: limited.value }) };
}

/** The same room at a hub, which may have restarted. */
function roomAt(
  hub: TestHub,
  path: string,
  hostToken: string,
  values: { host: string; ada: string },
) {
  const headers = { authorization: `Bearer ${values.ada}` };
  return {
    ...{ path, headers, hostToken, hostKey: values.host },
    at: (other: TestHub) => roomAt(other, path, hostToken, values),
    /** @returns the response to a request whose body does not come */
    sendHead: () => {
      const head = `POST ${path}/v1/chat/completions HTTP/1.1\r\nhost: hub\r\nauthorization: ${headers.authorization}\r\ncontent-length: 50\r\n\r\n`;
      return sendBytes(Number(new URL(hub.url).port), head);
    },
    join: async (id: string, model: string, endpoint: string): Promise<void> => {
      const joined = await hub.fetch(`${path}/join`, {
        json: { id, nickname: id, model, endpoint },
        headers: { authorization: `Bearer ${values.host}` },
      });
      expect(joined.status).toBe(201);
    },
    get: async (below: string, more: Record<string, string> = {}): Promise<object> => {
      const got = await hub.fetch(path + below, { headers: { ...headers, ...more } });
      return (await got.json()) as object;
    },
    chat: (model: string, fields: object = {}, signal?: AbortSignal): Promise<Response> =>
      hub.fetch(`${path}/v1/chat/completions`, {
        json: { model, messages: userSays("hi"), ...fields },
        ...{ headers, ...(signal && { signal }) },
      }),
    alias: async (pattern: string, ...targets: string[]): Promise<void> => {
      const made = await hub.fetch(`${path}/aliases`, {
        json: { pattern, targets },
        headers: { "x-host-token": hostToken },
      });
      expect(made.ok).toBe(true);
    },
  };
}

async function errorOf(response: Response) {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return [response.status, error.code, error.message];
}

test("a key for some models gets those alone, in requests and in lists", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const room = await roomWithKey(hub, { models: ["small"] });
  expect(room.limited.models).toEqual(["small"]);
  await room.join("big-one", "big", provider.url);
  await room.join("small-one", "small", provider.url);
  await room.alias("claude-big", "big");
  await room.alias("claude-any", "big", "small");

  for (const model of ["*", "any", "small", "model:small", "small-one", "claude-any"]) {
    const response = await room.chat(model);
    expect([model, response.status, response.headers.get("x-roomhub-participant")]).toEqual([
      ...[model, 200, "small-one"],
    ]);
    await response.arrayBuffer();
  }
  for (const model of ["big", "big-one", "model:big", "claude-big"]) {
    const response = await room.chat(model);
    expect(response.headers.get("x-should-retry")).toBe("false");
    const permits = expect.stringContaining("This key permits small in room");
    expect([model, await errorOf(response)]).toEqual([model, [403, "not_allowed", permits]]);
  }

  const anthropic = { "anthropic-version": "2023-06-01" };
  expect(await room.get("/v1/models")).toMatchObject({ data: [{ id: "small-one" }] });
  expect(await room.get("/v1/models", anthropic)).toMatchObject({
    data: [{ id: "small-one" }, { id: "claude-any" }],
  });
  expect(await room.get("/v1/models/big")).toMatchObject({ error: { code: "not_allowed" } });
  expect(await room.get("/participants")).toMatchObject({ participants: [{ id: "small-one" }] });
  const { participants } = (await room.get("/route?model=*")) as RouteExplanation;
  expect(participants.map(({ id, verdict }) => [id, verdict])).toEqual([["small-one", "asked"]]);
  expect(await room.get("/route?model=big")).toMatchObject({
    ...{ outcome: "refused", participants: [{ id: "small-one" }] },
    refusal: { status: 403, code: "not_allowed" },
  });
});

test("requests beyond the limit of a key are refused before their body is read, with the headers at which SDKs wait", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const room = await roomWithKey(hub, { requestsPerMinute: 2 });
  expect(room.limited.requestsPerMinute).toBe(2);
  await room.join("one", "m", provider.url);
  for (const model of ["*", "ghost"]) await (await room.chat(model)).arrayBuffer();

  const refused = await room.chat("*");
  const wait = Number(refused.headers.get("retry-after"));
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(60);
  const names = ["limit", "remaining", "reset"].map((name) => `x-ratelimit-${name}-requests`);
  const reset = wait === 60 ? "1m0s" : `${wait}s`;
  expect(names.map((name) => refused.headers.get(name))).toEqual(["2", "0", reset]);
  expect(refused.headers.has("x-should-retry")).toBe(false);
  const message = expect.stringContaining("permits 2 requests a minute");
  expect(await errorOf(refused)).toEqual([429, "key_limit_reached", message]);
  expect((await room.sendHead()).error).toMatchObject({ code: "key_limit_reached" });
  expect(await room.get("/v1/models")).toMatchObject({ data: [{ id: "one" }] });

  const url = `${hub.url}${room.path}/v1/responses`;
  await using socket = await connectResponses(url, { headers: room.headers });
  const turn = await socket.turn({ model: "*", input: "hi" });
  expect(turn.at(-1)).toMatchObject({ status: 429, error: { code: "key_limit_reached" } });
});

test("the models and limits of a key hold through another hub, and count together with those at the home", async () => {
  await using provider = await startFakeProvider();
  await using cluster = await startCluster(2);
  await cluster.linked();
  const [home, other] = cluster.hubs;
  if (home === undefined || other === undefined) throw new Error("the cluster has two hubs");
  const atHome = await roomWithKey(home, { models: ["small"], requestsPerMinute: 3 });
  await atHome.join("big-one", "big", provider.url);
  await atHome.join("small-one", "small", provider.url);
  const there = atHome.at(other);
  expect(await there.get("/v1/models")).toMatchObject({ data: [{ id: "small-one" }] });
  expect(await errorOf(await there.chat("big"))).toMatchObject({ 0: 403, 1: "not_allowed" });
  for (const room of [there, atHome]) {
    const response = await room.chat("*");
    const by = response.headers.get("x-roomhub-participant");
    expect([response.status, by]).toEqual([200, "small-one"]);
    await response.arrayBuffer();
  }
  for (const room of [there, atHome]) {
    const refused = await room.chat("*");
    expect(refused.headers.get("x-ratelimit-limit-requests")).toBe("3");
    expect(await errorOf(refused)).toMatchObject({ 0: 429, 1: "key_limit_reached" });
  }
});

test("a participant that is for some keys serves those alone, whatever the hub sends it", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const room = await roomWithKey(hub, {});
  const code = room.path.split("/").at(-1) ?? "";
  const wishes = { endpoint: provider.url, key: room.hostKey };
  await using _bobs = await joinTunnel(hub, code, { ...wishes, id: "bobs", only: ["Bob"] });
  for (const model of ["*", "bobs", "fake-model"]) {
    expect(await errorOf(await room.chat(model))).toMatchObject({ 0: 403, 1: "not_allowed" });
  }
  expect(await room.get("/v1/models")).toMatchObject({ data: [] });
  await using _adas = await joinTunnel(hub, code, { ...wishes, id: "adas", only: ["Ada"] });
  for (const model of ["*", "adas", "fake-model"]) {
    const response = await room.chat(model);
    const by = response.headers.get("x-roomhub-participant");
    expect([model, response.status, by]).toEqual([model, 200, "adas"]);
    await response.arrayBuffer();
  }
  // A hub that knows of no such choice is refused by the agent itself.
  await using open = await startTestHub();
  const lab = await open.client.createRoom({ name: "lab" });
  await using _there = await joinTunnel(open, lab.room.code, { ...wishes, only: ["ada"] });
  const chat = (name: string) =>
    open.fetch(`/rooms/${lab.room.code}/v1/chat/completions`, {
      json: { model: "*", messages: userSays("hi") },
      headers: { authorization: `Bearer as-${name}` },
    });
  expect((await chat("eve")).status).toBe(429);
  expect((await chat("ada")).status).toBe(200);
});

/** What the host's list says of the key of ada. */
async function spent(hub: TestHub, { path, hostToken }: { path: string; hostToken: string }) {
  const listed = await hub.fetch(`${path}/keys`, { headers: { "x-host-token": hostToken } });
  const { keys } = (await listed.json()) as { keys: Key[] };
  return keys.find(({ name }) => name === "ada") ?? {};
}

function untilSpent(hub: TestHub, room: { path: string; hostToken: string }, tokens: number) {
  return until(
    `${tokens} tokens spent`,
    () => spent(hub, room),
    ({ spentToday }: Partial<Key>) => spentToday === tokens,
  );
}

/** 15 tokens by its usage */
const counted = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 10 } };

test("the tokens of a key last until the hub's midnight, also when the hub restarts meanwhile", async () => {
  await using provider = await startRoutedProvider({
    "POST /chat/completions": () => ({ json: counted }),
  });
  const store = memoryRoomStore();
  const first = await startTestHub({ store });
  const room = await roomWithKey(first, { tokensPerDay: 30 });
  const { resetAt = 0 } = room.limited;
  expect(room.limited).toMatchObject({ tokensPerDay: 30, spentToday: 0 });
  expect(new Date(resetAt).getHours()).toBe(0);
  expect(resetAt).toBeGreaterThan(Date.now());
  await room.join("one", "m", provider.url);
  expect((await room.chat("*")).status).toBe(200);
  await untilSpent(first, room, 15);
  await first[Symbol.asyncDispose]();

  await using hub = await startTestHub({ store });
  const again = room.at(hub);
  expect(await spent(hub, room)).toMatchObject({ spentToday: 15 });
  await again.join("one", "m", provider.url);
  expect((await again.chat("*")).status).toBe(200);
  await untilSpent(hub, room, 30);
  const refused = await again.chat("*");
  const names = ["limit", "remaining"].map((name) => `x-ratelimit-${name}-tokens`);
  expect(names.map((name) => refused.headers.get(name))).toEqual(["30", "0"]);
  expect(refused.headers.get("x-ratelimit-reset-tokens")).toMatch(/^(\d+h)?(\d+m)?\d+s$/);
  expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(25 * 3_600);
  const message = expect.stringContaining("permits 30 tokens a day");
  expect(await errorOf(refused)).toEqual([429, "key_limit_reached", message]);
  expect((await again.sendHead()).error).toMatchObject({ code: "key_limit_reached" });
  expect(await again.get("/v1/models")).toMatchObject({ data: [{ id: "one" }] });
});

test("a hub that is killed loses the tokens of its last 10 s at most", async () => {
  await using provider = await startRoutedProvider({
    "POST /chat/completions": () => ({ json: counted }),
  });
  await using folder = await temporaryFolder();
  const stateFile = join(folder.path, "rooms.json");
  const time = createManualTime();
  const options = { world: time.world, limits: QUICK_SWEEP };
  await using hub = await startTestHub({ ...options, store: fileRoomStore(stateFile) });
  const room = await roomWithKey(hub, { tokensPerDay: 100 });
  await room.join("one", "m", provider.url);
  /** What a hub reads that starts on the file as it is. */
  const spentOnDisk = async (): Promise<number | undefined> => {
    const copy = join(folder.path, "copy.json");
    await copyFile(stateFile, copy);
    await using another = await startTestHub({ ...options, store: fileRoomStore(copy) });
    const { spentToday } = (await spent(another, room)) as Partial<Key>;
    return spentToday;
  };
  for (const tokens of [15, 30]) {
    expect((await room.chat("*")).status).toBe(200);
    await untilSpent(hub, room, tokens);
    expect(await spentOnDisk()).toBe(tokens - 15);
    await time.advance(10_000);
    await until("the tokens on disk", spentOnDisk, (onDisk) => onDisk === tokens);
  }
});

test("parallel requests reserve what they may cost, and cancelled ones have cost what was generated", async () => {
  const gate = createGate();
  await using provider = await startFakeProvider({
    behave: () => ({ kind: "normal", gate: gate.opened, gateAfterChunks: 2 }),
  });
  await using hub = await startTestHub();
  const room = await roomWithKey(hub, { tokensPerDay: 1_000 });
  await room.join("one", "m", provider.url);
  const cancel = new AbortController();
  const stream = { stream: true, max_tokens: 1_000 };
  const running = await room.chat("*", stream, cancel.signal);
  const message = expect.stringContaining("which may be used up by what runs");
  expect(await errorOf(await room.chat("*"))).toEqual([429, "key_limit_reached", message]);
  expect(await spent(hub, room)).toMatchObject({ spentToday: 0 });
  await running.body?.getReader().read();
  cancel.abort();
  const { spentToday = 0 } = await until(
    "the cost of the cancelled request",
    () => spent(hub, room) as Promise<Partial<Key>>,
    ({ spentToday: tokens = 0 }) => tokens > 0,
  );
  // A quarter of its body's bytes, and the chunks that were sent.
  const bytes = provider.requests.at(-1)?.body.length ?? 0;
  expect(spentToday).toBeGreaterThanOrEqual(Math.floor(bytes / 4));
  expect(spentToday).toBeLessThan(100);
  gate.open();
  expect((await room.chat("*")).status).toBe(200);
});
