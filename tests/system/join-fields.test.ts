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
