import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

const stainless = "authorization,content-type,x-stainless-arch,x-stainless-lang,x-stainless-os";

test.for([
  "/rooms/ABC234/v1/chat/completions",
  "/v1/rooms/ABC234/responses",
  "/rooms",
  "/health",
  "/v1/rooms/ABC234/events",
  "/nowhere/at/all",
  "/",
])("a preflight of %s allows every header an SDK sends", async (path) => {
  await using hub = await startTestHub();
  const answer = await hub.fetch(path, {
    method: "OPTIONS",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": stainless,
    },
  });
  expect(answer.status).toBe(204);
  expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  expect(answer.headers.get("access-control-allow-headers")).toBe(stainless);
  expect(answer.headers.get("access-control-allow-methods")).toContain("DELETE");
  expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  expect(answer.headers.get("access-control-allow-private-network")).toBeNull();
});

test("responses, streams and errors are readable from any origin, with our headers exposed", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  const headers = { origin: "https://app.example" };
  const messages = userSays("hello");
  const path = `/rooms/${code}/v1/chat/completions`;
  for (const answer of [
    await hub.fetch("/rooms", { headers }),
    await hub.fetch(path, { headers, json: { model: "*", messages } }),
    await hub.fetch(path, { headers, json: { model: "*", messages, stream: true } }),
    await hub.fetch(path, { headers, json: { model: "nobody", messages } }),
    await hub.fetch("/nowhere", { headers }),
  ]) {
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-expose-headers")).toContain("x-request-id");
    expect(answer.headers.get("access-control-expose-headers")).toContain("x-roomhub-participant");
    expect(answer.headers.get("x-request-id")).toMatch(/\S/);
    await answer.text();
  }
});

describe("HEAD", () => {
  test.for([
    "/health",
    "/v1/rooms",
    "/rooms/CODE",
    "/rooms/CODE/participants",
    "/rooms/CODE/v1/models",
  ])("of %s is GET without the body", async (pattern) => {
    await using hub = await startTestHub();
    const path = pattern.replace("CODE", await hub.createRoom());
    const got = await hub.fetch(path);
    const head = await hub.fetch(path, { method: "HEAD" });
    expect(head.status).toBe(got.status);
    expect(head.headers.get("content-type")).toBe(got.headers.get("content-type"));
    expect(Number(head.headers.get("content-length"))).toBeGreaterThan(0);
    expect(await head.text()).toBe("");
  });

  test("of nothing is 404 without a body", async () => {
    await using hub = await startTestHub();
    const head = await hub.fetch("/rooms/ABC234", { method: "HEAD" });
    expect(head.status).toBe(404);
    expect(await head.text()).toBe("");
  });
});

test("a trailing slash makes no difference", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url });
  for (const path of ["/health/", "/rooms/", `/rooms/${code}/`, `/v1/rooms/${code}/models/`]) {
    expect((await hub.fetch(path)).status).toBe(200);
  }
  const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions/`, {
    json: { model: "*", messages: userSays("hello") },
  });
  expect(answer.status).toBe(200);
});

test("both families give the same bodies", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
  for (const [roomScoped, management] of [
    ["/rooms", "/v1/rooms"],
    [`/rooms/${code}`, `/v1/rooms/${code}`],
    [`/rooms/${code}/participants`, `/v1/rooms/${code}/participants`],
    [`/rooms/${code}/v1/models`, `/v1/rooms/${code}/models`],
    [`/rooms/${code}/v1/models/ada`, `/v1/rooms/${code}/models/ada`],
    ["/rooms/ABC234", "/v1/rooms/ABC234"],
  ] as const) {
    const [one, other] = [await hub.fetch(roomScoped), await hub.fetch(management)];
    expect(one.status).toBe(other.status);
    expect(await one.json()).toEqual(await other.json());
  }
});
