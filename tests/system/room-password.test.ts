import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileRoomStore } from "@roomhub/hub";
import { expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { createManualTime } from "../support/hub/manual-time.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

const endpoint = "http://127.0.0.1:9/v1";
const registration = { id: "ada", nickname: "Ada", model: "m", endpoint };

test("a room answers 401 to a wrong or missing password and gains nobody", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom("swordfish");
  for (const password of [undefined, null, "tuna", "Swordfish", "swordfish "]) {
    const answer = await hub.fetch(`/rooms/${code}/join`, { json: { ...registration, password } });
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({
      error: { code: "invalid_password", type: "permission_error", param: "password" },
    });
  }
  expect(await hub.client.listParticipants(code)).toEqual([]);
});

test("the right one joins, over either family, and is asked of nobody who shows the token", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom("swordfish");
  const { answer } = await joinDirect(hub, code, { endpoint, password: "swordfish" });
  const token = answer.participantToken;
  expect((await hub.client.join(code, registration, { token })).participant.id).toBe("ada");
  const put = await hub.fetch(`/v1/rooms/${code}/participants/alan`, {
    method: "PUT",
    json: { ...registration, id: "alan", password: "swordfish" },
  });
  expect(put.status).toBe(201);
  await using provider = await startFakeProvider();
  await using grace = await joinTunnel(hub, code, {
    id: "grace",
    endpoint: provider.url,
    password: "swordfish",
  });
  expect(grace.agent.state).toBe("connected");
  const listed = await hub.client.listRooms();
  expect(listed[0]).toMatchObject({ code, passwordProtected: true, participantCount: 3 });
});

test("an agent with the wrong password stops with one clear reason", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom("swordfish");
  await expect(joinTunnel(hub, code, { endpoint, password: "tuna" })).rejects.toMatchObject({
    code: "invalid_password",
  });
});

test("after five wrong ones it is 429 until there is time for one more, and other rooms are not concerned", async () => {
  const time = createManualTime();
  await using hub = await startTestHub({ time: time.source, limits: { sweepIntervalMs: 2 } });
  const code = await hub.createRoom("swordfish");
  const other = await hub.createRoom("swordfish");
  const attempt = (room: string, password: string) =>
    hub.fetch(`/rooms/${room}/join`, { json: { ...registration, password } });
  for (let wrong = 0; wrong < 5; wrong++) expect((await attempt(code, "tuna")).status).toBe(401);

  const throttled = await attempt(code, "swordfish");
  expect(throttled.status).toBe(429);
  expect(throttled.headers.get("retry-after")).toBe("2");
  expect(await throttled.json()).toMatchObject({
    error: { code: "too_many_attempts", type: "rate_limit_error" },
  });
  expect((await attempt(other, "swordfish")).status).toBe(201);

  await time.advance(2_000);
  expect((await attempt(code, "tuna")).status).toBe(401);
  expect((await attempt(code, "swordfish")).status).toBe(429);
  await time.advance(2_000);
  expect((await attempt(code, "swordfish")).status).toBe(201);
});

test("a password survives a restart as a digest, never as itself", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "rooms.json");
  let code = "";
  {
    await using hub = await startTestHub({ store: fileRoomStore(path) });
    code = await hub.createRoom("swordfish");
    await joinDirect(hub, code, { endpoint, password: "swordfish" });
  }
  const stored = await readFile(path, "utf8");
  expect(stored).toContain(code);
  expect(stored).toContain("scrypt");
  expect(stored).not.toContain("swordfish");
  expect(stored).not.toContain(endpoint);

  await using hub = await startTestHub({ store: fileRoomStore(path) });
  expect(await hub.client.getRoom(code)).toMatchObject({
    passwordProtected: true,
    participantCount: 0,
  });
  await expect(joinDirect(hub, code, { endpoint, password: "tuna" })).rejects.toMatchObject({
    code: "invalid_password",
  });
  expect(
    (await joinDirect(hub, code, { endpoint, password: "swordfish" })).answer.participant.id,
  ).toBe("ada");
});
