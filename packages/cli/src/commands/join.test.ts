import { HubUnreachableError } from "@roomhub/client";
import { expect, test, vi } from "vitest";
import type { CliContext } from "../context.ts";
import type { RunningParticipant } from "../services.ts";
import { aParticipant, aRoom, makeWorld } from "../test-context.fixture.ts";

const listParticipants = async () => [];
const getRoom = async () => aRoom();

/** A machine on which Ollama runs with one model. */
const ollama: CliContext["fetch"] = async (url) => {
  if (!url.startsWith("http://127.0.0.1:11434/")) throw new TypeError("fetch failed");
  return Response.json({ data: [{ id: "llama3.2:3b" }] });
};

async function untilJoined(world: ReturnType<typeof makeWorld>): Promise<void> {
  await vi.waitFor(() => {
    if (world.participants.length === 0) throw new Error("not yet");
  });
}

test("join without options offers the first model of the first server under a readable id", async () => {
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants });
  const running = world.run("join", "http://10.0.0.9:5050/rooms/abc234");
  await untilJoined(world);
  world.stop();
  expect(await running).toBe(0);
  expect(world.participants[0]).toMatchObject({
    hubUrl: "http://10.0.0.9:5050",
    room: "ABC234",
    id: "ana-llama3.2-3b",
    nickname: "Ana",
    model: "llama3.2:3b",
    endpoint: "http://127.0.0.1:11434",
  });
  expect(world.stderr.text).toContain("Found Ollama at http://127.0.0.1:11434");
  expect(world.stderr.text).toContain("ana-llama3.2-3b left room ABC234");
  expect(world.closedParticipants).toBe(1);
});

test("a second join from the same person takes the next id instead of the first one's place", async () => {
  const busy = async () => [aParticipant({ id: "ana-llama3.2-3b" })];
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants: busy });
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]!.id).toBe("ana-llama3.2-3b-2");
});

test("every option reaches the participant, and secrets reach nothing else", async () => {
  const env = { API_KEY: "Bearer sk-1", ROOM_PASSWORD: "swordfish" };
  const world = makeWorld({ env }, { getRoom });
  const who = ["--id", "big", "--nickname", "Cloud", "--password-env", "ROOM_PASSWORD"];
  const what = ["--endpoint", "https://api.example.com/v1", "--model", "big-1"];
  const local = ["--header", "X-One: 1", "--header", "X-Two: a:b"];
  const secret = ["--header-env", "Authorization=API_KEY", "--auth-header", "X-Key: k"];
  const more = ["--specs", '{"gpu":"H100"}', "--config", '{"top_p":0.5}', "--max-concurrency", "4"];
  const running = world.run("join", "ABC234", ...who, ...what, ...local, ...secret, ...more);
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]).toMatchObject({
    id: "big",
    nickname: "Cloud",
    model: "big-1",
    endpoint: "https://api.example.com/v1",
    password: "swordfish",
    headers: { "X-One": "1", "X-Two": "a:b", Authorization: "Bearer sk-1" },
    authHeaders: { "X-Key": "k" },
    specs: { gpu: "H100" },
    config: { top_p: 0.5, maxConcurrency: 4 },
  });
  expect(world.stderr.text + world.stdout.text).not.toMatch(/sk-1|swordfish/);
});

test("without a model server the message says what to start", async () => {
  const world = makeWorld();
  expect(await world.run("join", "ABC234")).toBe(1);
  expect(world.stderr.text).toContain("No model server answers on this machine (looked for Ollama");
  expect(world.stderr.text).toContain("→ start one, for example: ollama run llama3.2");
  expect(world.participants).toEqual([]);
});

function participantThat(
  running: Partial<RunningParticipant>,
): Pick<CliContext, "createParticipant" | "fetch"> {
  return {
    fetch: ollama,
    createParticipant: async ({ onNotice }) => {
      onNotice?.({ kind: "disconnected", reason: "gone\u001b[2J", retryInMs: 500 });
      onNotice?.({ kind: "provider-down", reason: "refused" });
      return {
        start: async () => {},
        stopped: new Promise(() => {}),
        close: async () => {},
        ...running,
      };
    },
  };
}

test("a participant the hub refuses for good ends the command with the refusal's exit code", async () => {
  const stopped = Promise.resolve({ reason: "Wrong password", code: "invalid_password" });
  const world = makeWorld(participantThat({ stopped }), { getRoom, listParticipants });
  expect(await world.run("join", "ABC234")).toBe(4);
  expect(world.stderr.text).toContain("error: Wrong password");
});

test("what happens is told in readable lines that cannot steer the terminal", async () => {
  const stopped = Promise.resolve({ reason: "enough", code: "replaced" });
  const world = makeWorld(participantThat({ stopped }), { getRoom, listParticipants });
  await world.run("join", "ABC234");
  expect(world.stderr.text).toContain("disconnected: gone\ufffd[2J; trying again in 500 ms");
  expect(world.stderr.text).toContain("the model server is down: refused");
});

test("--json tells the same as NDJSON on stdout", async () => {
  const stopped = Promise.resolve({ reason: "enough", code: "replaced" });
  const world = makeWorld(participantThat({ stopped }), { getRoom, listParticipants });
  await world.run("join", "ABC234", "--json");
  const notices = world.stdout.text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(notices).toMatchObject([{ kind: "disconnected" }, { kind: "provider-down" }]);
});

const unreachable = () => Promise.reject(new HubUnreachableError("http://x", new Error("no")));

test.each([
  [
    "a room with a password, and none given",
    4,
    { getRoom: async () => aRoom({ passwordProtected: true }) },
  ],
  ["a hub that nobody answers for", 5, { getRoom: unreachable }],
])("%s ends join with %i before anything starts", async (_name, code, client) => {
  const world = makeWorld({ fetch: ollama }, client);
  expect(await world.run("join", "ABC234", "--id", "ana")).toBe(code);
  expect(world.participants).toEqual([]);
});

test("behind a proxy the agent is left to find the hub", async () => {
  const env = { HTTPS_PROXY: "http://proxy:3128" };
  const world = makeWorld({ fetch: ollama, env }, { getRoom: unreachable });
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  world.stop();
  expect(await running).toBe(0);
});

test("an endpoint or header the agent cannot use is a usage error", async () => {
  const createParticipant = () =>
    Promise.reject(
      Object.assign(new Error("the header host is refused."), { name: "ParticipantError" }),
    );
  const world = makeWorld({ fetch: ollama, createParticipant }, { getRoom, listParticipants });
  expect(await world.run("join", "ABC234", "--header", "Host: x")).toBe(2);
  expect(world.stderr.text).toContain("the header host is refused.");
});

test("the room's password may stand in ROOMHUB_PASSWORD", async () => {
  const protectedRoom = async () => aRoom({ passwordProtected: true });
  const env = { ROOMHUB_PASSWORD: "swordfish" };
  const world = makeWorld({ fetch: ollama, env }, { getRoom: protectedRoom, listParticipants });
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]!.password).toBe("swordfish");
});
