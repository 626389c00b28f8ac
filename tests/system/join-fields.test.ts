import { describe, expect, test } from "vitest";
import { join, joinDirect, PATHS } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

describe.each(PATHS)("over %s", (path) => {
  test("every call to an endpoint with a query has that query", async () => {
    await using provider = await startFakeProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const endpoint = `${provider.url}?api-version=2024-10-21`;
    await using ada = await join(path, hub, code, { endpoint });
    const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
      json: { model: ada.id, messages: [{ role: "user", content: "hi" }] },
    });
    expect(answer.status).toBe(200);
    const paths = provider.requests.map((request) => request.path);
    expect(paths).toContain("/v1/models?api-version=2024-10-21");
    expect(paths).toContain("/v1/chat/completions?api-version=2024-10-21");
    expect(paths.filter((one) => !one.includes("?api-version=2024-10-21"))).toEqual([]);
    const [listed] = await hub.client.listParticipants(code);
    expect(listed?.endpoint).toBe(endpoint);
  });
});

test("an endpoint with a key in its query is refused, with a hint that does not repeat it", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const endpoint = "https://lab.example/v1?api-version=1&api-key=swordfish";
  const refused = joinDirect(hub, code, { endpoint });
  await expect(refused).rejects.toMatchObject({ status: 400, code: "invalid_endpoint" });
  await expect(refused).rejects.toThrow("use authHeaders");
  await expect(refused).rejects.not.toThrow("swordfish");
});

test("specs, config and capabilities take any object, and the response names what is not valid in it", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const unknown = {
    specs: { rack: { unit: 7 } },
    config: { top_k: 40, modes: ["fast"] },
    capabilities: { vision: "some", tools: { parallel: true } },
  };
  const sent = {
    specs: { ...unknown.specs, vram: "24 GB" },
    config: { ...unknown.config, temperature: "hot", seed: 7, instructions: ["swordfish"] },
    capabilities: { ...unknown.capabilities, chatCompletions: { supported: true } },
  };
  const ignored = [
    ...["specs.vram", "config.temperature", "config.instructions"],
    "capabilities.chatCompletions",
  ];
  const send = async (method: string, path: string, body: object) => {
    const answer = await hub.fetch(`/v1/rooms/${code}/participants${path}`, { method, json: body });
    return [answer.status, await answer.json()] as const;
  };
  const ada = { nickname: "Ada", model: "fake-model", endpoint: provider.url };
  for (const [status, body] of [
    await send("PUT", "/ada", { ...ada, ...sent }),
    await send("PUT", "/ada", sent),
  ]) {
    expect([200, 201]).toContain(status);
    const { warnings } = body as { warnings: { code: string; message: string }[] };
    expect(warnings.map(({ code: name }) => name)).toEqual(ignored.map(() => "field_ignored"));
    expect(warnings.map(({ message }) => message.split(" ")[0])).toEqual(ignored);
    expect(JSON.stringify(body)).not.toContain("swordfish");
  }
  const [listed] = await hub.client.listParticipants(code);
  expect(listed).toMatchObject(unknown);
  expect(listed?.specs).toEqual(unknown.specs);
  expect(listed?.config).toEqual({ ...unknown.config, seed: 7, hasInstructions: false });

  const chat = { model: "ada", messages: [{ role: "user", content: "hi" }] };
  const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json: chat });
  expect(answer.status).toBe(200);
  expect(provider.requests.at(-1)?.json).toEqual({ ...chat, model: "fake-model", seed: 7 });
  for (const specs of ["text", [], 7, { big: "x".repeat(17_000) }]) {
    expect((await send("PUT", "/ada", { specs }))[0]).toBe(400);
  }
});
