import Anthropic from "@anthropic-ai/sdk";
import type { RouteExplanation } from "@roomhub/protocol";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { fileRoomStore } from "@roomhub/hub";
import { describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const families = ["/rooms", "/v1/rooms"] as const;

async function alias(hub: TestHub, code: string, pattern: string, ...targets: string[]) {
  const response = await hub.fetch(`/v1/rooms/${code}/aliases`, { json: { pattern, targets } });
  expect(response.status).toBe(201);
}

async function ask(hub: TestHub, code: string, model: string): Promise<Response> {
  const json = { model, messages: userSays("hello") };
  return hub.fetch(`/rooms/${code}/v1/chat/completions`, { json });
}

describe.each(families)("%s/CODE/aliases", (family) => {
  test("adds, replaces, lists and removes", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const path = `${family}/${code}/aliases`;
    const post = async (pattern: unknown, targets: unknown) => {
      const response = await hub.fetch(path, { json: { pattern, targets } });
      return [response.status, await response.json()];
    };
    const added = { pattern: "claude-*", targets: ["qwen3", "*"], createdAt: expect.any(Number) };
    expect(await post("claude-*", ["qwen3", "*"])).toEqual([201, { alias: added }]);
    expect(await post("claude-*", ["*"])).toEqual([200, { alias: { ...added, targets: ["*"] } }]);
    expect(await (await hub.fetch(path)).json()).toEqual({
      aliases: [{ ...added, targets: ["*"] }],
    });
    const remove = (query: string) => hub.fetch(`${path}${query}`, { method: "DELETE" });
    expect(await (await remove("?pattern=claude-*")).json()).toEqual({ success: true });
    const again = await remove("?pattern=claude-*");
    expect([again.status, await again.json()]).toMatchObject([
      404,
      { error: { code: "alias_not_found", param: "pattern" } },
    ]);
    const without = await remove("");
    expect([without.status, await without.json()]).toMatchObject([
      400,
      { error: { code: "missing_required_parameter", param: "pattern" } },
    ]);
    expect(await (await hub.fetch(path)).json()).toEqual({ aliases: [] });
    expect((await hub.fetch(`${family}/QQQQQQ/aliases`)).status).toBe(404);
  });

  test.each([
    ["no targets", { pattern: "a", targets: [] }, "targets"],
    ["17 targets", { pattern: "a", targets: Array.from({ length: 17 }, () => "*") }, "targets"],
    ["five wildcards", { pattern: "*a*b*c*d*", targets: ["*"] }, "pattern"],
    ["a pattern that is never aliased", { pattern: "any", targets: ["*"] }, "pattern"],
    ["a model's pattern", { pattern: "model:*", targets: ["*"] }, "pattern"],
    ["a pattern of 257 characters", { pattern: "a".repeat(257), targets: ["*"] }, "pattern"],
    ["a target that is no text", { pattern: "a", targets: [1] }, "targets.0"],
    ["a target of 257 characters", { pattern: "a", targets: ["a".repeat(257)] }, "targets.0"],
  ])("refuses %s and names the field", async (_title, json, param) => {
    await using hub = await startTestHub();
    const path = `${family}/${await hub.createRoom()}/aliases`;
    const response = await hub.fetch(path, { json });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
    expect(await (await hub.fetch(path)).json()).toEqual({ aliases: [] });
  });
});

test("a request through an alias is served by its target and says so, in events, headers and the route", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  await alias(hub, code, "claude-*", "nothing-has-this", "fake-model");
  const events = await hub.watch(code);
  const response = await ask(hub, code, "claude-opus-4");
  expect(response.status).toBe(200);
  expect(response.headers.get("x-roomhub-model")).toBe("fake-model");
  expect(await response.json()).toMatchObject({ model: "fake-model" });
  const named = { selector: "claude-opus-4", alias: "claude-*", model: "fake-model" };
  expect((await events.next("llm.request")).data).toMatchObject(named);
  expect((await events.next("llm.complete")).data).toMatchObject(named);
  const route = await hub.fetch(`/v1/rooms/${code}/route?model=claude-opus-4`);
  expect((await route.json()) as RouteExplanation).toMatchObject({
    model: "claude-opus-4",
    outcome: "asked",
    readAs: "model",
    alias: {
      pattern: "claude-*",
      target: "fake-model",
      targets: [
        { target: "nothing-has-this", verdict: "passed-over" },
        { target: "fake-model", verdict: "taken" },
      ],
    },
  });
  // A name that is its own needs no alias.
  await (await ask(hub, code, "ada")).text();
  const own = await events.next("llm.complete", (data) => data["selector"] === "ada");
  expect(own.data).not.toHaveProperty("alias");
  await hub.hub.close();
  expect(hub.log.join("")).toContain('selector="claude-opus-4" alias="claude-*"');
});

test("a host token works from another machine's address, and its room alone", async () => {
  await using hub = await startTestHub({ trustProxy: ["127.0.0.1"] });
  const created = await hub.client.createRoom({ name: "lab" });
  const other = await hub.client.createRoom({ name: "other" });
  const attempt = async (headers: Record<string, string>) => {
    const json = { pattern: "a", targets: ["*"] };
    const sent = { "x-forwarded-for": "203.0.113.9", ...headers };
    const path = `/v1/rooms/${created.room.code}/aliases`;
    return (await hub.fetch(path, { json, headers: sent })).status;
  };
  expect(created.hostToken).toMatch(/^rhh_[\w-]{43}$/);
  expect(await attempt({})).toBe(403);
  expect(await attempt({ "x-host-token": other.hostToken ?? "" })).toBe(403);
  expect(await attempt({ "x-host-token": created.hostToken ?? "" })).toBe(201);
  expect(await attempt({ authorization: `Bearer ${created.hostToken}` })).toBe(200);
  expect(await (await hub.fetch("/v1/rooms")).text()).not.toContain("rhh_");
});

test("aliases and the host token survive a restart, and the state file has no token", async () => {
  const folder = await mkdtemp(joinPath(tmpdir(), "roomhub-aliases-"));
  const path = joinPath(folder, randomUUID());
  const store = () => fileRoomStore(path, { onWarning: (text) => expect.fail(text) });
  try {
    let created;
    {
      await using hub = await startTestHub({ store: store() });
      created = await hub.client.createRoom({ name: "lab" });
      await alias(hub, created.room.code, "claude-*", "*");
    }
    expect(await readFile(path, "utf8")).not.toContain("rhh_");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await using hub = await startTestHub({ store: store() });
    const list = await hub.fetch(`/v1/rooms/${created.room.code}/aliases`);
    expect(await list.json()).toMatchObject({ aliases: [{ pattern: "claude-*" }] });
    const headers = { origin: "https://app.example", "x-host-token": created.hostToken ?? "" };
    const removal = { method: "DELETE", headers };
    const removed = await hub.fetch(
      `/v1/rooms/${created.room.code}/aliases?pattern=claude-*`,
      removal,
    );
    expect(removed.status).toBe(200);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

describe("Anthropic's SDK", () => {
  test("lists participants and aliases on one page, and looks a name up through an alias", async () => {
    await using provider = await startFakeProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const client = new Anthropic({ baseURL: `${hub.url}/rooms/${code}`, apiKey: "roomhub" });
    const empty = await client.models.list();
    expect([empty.data, empty.has_more, empty.first_id, empty.last_id]).toEqual([
      [],
      false,
      null,
      null,
    ]);
    await joinDirect(hub, code, { endpoint: provider.url });
    await alias(hub, code, "claude-*", "fake-model");
    const listed = [];
    for await (const model of client.models.list({ limit: 1 })) listed.push(model);
    expect(listed).toEqual([
      {
        type: "model",
        id: "ada",
        display_name: "Ada (fake-model)",
        created_at: expect.stringMatching(/Z$/),
      },
      {
        type: "model",
        id: "claude-*",
        display_name: "claude-* → fake-model",
        created_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect(await client.models.retrieve("claude-sonnet-4-5")).toMatchObject({ id: "ada" });
    await expect(client.models.retrieve("gpt-5")).rejects.toMatchObject({
      status: 404,
      error: { type: "error", error: { type: "not_found_error" } },
    });
    const openai = await (await hub.fetch(`/rooms/${code}/v1/models`)).json();
    expect(openai).toMatchObject({ object: "list", data: [{ id: "ada", object: "model" }] });
  });
});
