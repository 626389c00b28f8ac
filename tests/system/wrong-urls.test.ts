import { expect, test } from "vitest";
import { startTestHub } from "../support/hub/start-test-hub.ts";

/** What people write for `{hub}/rooms/CODE/v1`; an SDK puts `/chat/completions` behind it. */
const mistakes: [what: string, base: (code: string) => string][] = [
  ["no /v1", (code) => `/rooms/${code}`],
  ["/v1 twice", (code) => `/rooms/${code}/v1/v1`],
  ["no room", () => "/v1"],
  ["nothing but the hub", () => ""],
  ["a prefix of another product", (code) => `/api/rooms/${code}/v1`],
  ["the operation in the base URL", (code) => `/rooms/${code}/v1/chat/completions`],
  ["both families at once", (code) => `/v1/rooms/${code}/v1`],
  ["a space behind the code", (code) => `/rooms/${code}%20/v1`],
  ["a quote behind the base URL", (code) => `/rooms/${code}/v1%22`],
  ["the room's name for its code", () => "/rooms/Lab/v1"],
  ["a wrong last letter", (code) => `/rooms/${code.slice(0, -1)}${code.endsWith("2") ? 3 : 2}/v1`],
];

test.each(mistakes)("a base URL with %s gets the right one in the hint", async (_what, base) => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const path = `${base(code)}/chat/completions`;
  const response = await hub.fetch(path, { json: { model: "*", messages: [] } });
  expect(response.status).toBe(404);
  const { error } = (await response.json()) as { error: { code: string; hint: string } };
  expect(["not_found", "room_not_found"]).toContain(error.code);
  expect(error.hint).toContain(error.code === "not_found" ? `${hub.url}/rooms/${code}/v1` : code);
});

test("a room in lower case is no mistake", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const response = await hub.fetch(`/rooms/${code.toLowerCase()}/v1/models`);
  expect(response.status).toBe(200);
});
