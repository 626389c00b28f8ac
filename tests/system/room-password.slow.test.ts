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

test("a room responds 401 to a wrong or missing password and gains no participant", async () => {
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

test("the right one joins, over either family, and is not required with the token", async () => {
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

test("after five wrong ones it is 429 until one more is allowed, and other rooms are not affected", async () => {
  const time = createManualTime();
  await using hub = await startTestHub({ world: time.world, limits: { sweepIntervalMs: 2 } });
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

/** A hub whose clients' addresses come from a trusted proxy, and for which no time passes. */
async function proxiedHub() {
  const { world } = createManualTime();
  const hub = await startTestHub({ trustProxy: ["127.0.0.1"], world });
  const post = async (path: string, address: string, json: object): Promise<number> => {
    const answer = await hub.fetch(path, { json, headers: { "x-forwarded-for": address } });
    await answer.arrayBuffer();
    return answer.status;
  };
  const guess = (code: string, address: string, password: string, id = "ada") =>
    post(`/rooms/${code}/join`, address, { ...registration, id, password });
  return { hub, post, guess };
}

const count = (statuses: readonly number[], status: number) =>
  statuses.filter((one) => one === status).length;

test("a thousand addresses of one /64 are one guesser and one creator of rooms", async () => {
  const { hub, post, guess } = await proxiedHub();
  await using _hub = hub;
  const code = await hub.createRoom("swordfish");
  const address = (index: number) => `2001:db8:7:9::${index.toString(16)}`;
  const all = Array.from({ length: 1_000 }, (_, index) => address(index));
  const guesses = await Promise.all(all.map((from) => guess(code, from, "tuna")));
  expect([count(guesses, 401), count(guesses, 429)]).toEqual([5, 995]);
  expect(await guess(code, "2001:db8:7:a::1", "swordfish")).toBe(201);
  const creations = await Promise.all(
    all.slice(0, 40).map((from) => post("/rooms", from, { name: "lab" })),
  );
  expect([count(creations, 201), count(creations, 429)]).toEqual([20, 20]);
});

test("sixty wrong ones a minute from everywhere keep newcomers out, and no participant", async () => {
  const { hub, guess } = await proxiedHub();
  await using _hub = hub;
  const code = await hub.createRoom("swordfish");
  const { participantToken: token } = await hub.client.join(code, {
    ...{ ...registration, id: "grace", password: "swordfish" },
  });
  expect(await guess(code, "10.0.0.1", "swordfish", "alan")).toBe(201);
  const guesses = await Promise.all(
    Array.from({ length: 300 }, (_, index) => guess(code, `10.1.0.${index % 100}`, "tuna")),
  );
  expect([count(guesses, 401), count(guesses, 429)]).toEqual([60, 240]);
  const refused = await hub.fetch(`/rooms/${code}/join`, {
    json: { ...registration, password: "swordfish" },
    headers: { "x-forwarded-for": "10.2.0.1" },
  });
  expect([refused.status, await refused.json()]).toMatchObject([
    429,
    { error: { code: "too_many_attempts" } },
  ]);
  expect(refused.headers.get("retry-after")).toBe("60");
  expect(await guess(code, "10.0.0.1", "swordfish", "alan-again")).toBe(201);
  expect(await guess(code, "10.0.0.1", "tuna")).toBe(401);
  const back = await hub.client.join(code, { ...registration, id: "grace" }, { token });
  expect(back.participant.id).toBe("grace");
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
