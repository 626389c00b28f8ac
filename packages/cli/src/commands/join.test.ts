import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import { expect, test, vi } from "vitest";
import type { CliContext } from "../context.ts";
import type { ParticipantNotice, StopReason } from "@roomhub/participant";
import type { RunningParticipant } from "../capabilities.ts";
import {
  answersOf,
  aParticipant,
  aRoom,
  capture,
  idleParticipant,
  makeWorld,
  passing,
  noTimers,
  type After,
} from "../test-context.fixture.ts";

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
  }, 10_000);
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
    machineSecret: "secret of http://127.0.0.1:11434/v1",
  });
  expect(world.stderr.text).toBe(
    [
      "Joining room ABC234 (lab) at http://10.0.0.9:5050",
      "Sharing llama3.2:3b from Ollama as ana-llama3.2-3b",
      "Leaving: waiting for running requests; press Ctrl+C again to stop now",
      "ana-llama3.2-3b left room ABC234",
      "",
    ].join("\n"),
  );
  expect(world.closedParticipants).toBe(1);
});

test("a second join from the same person takes an id of its own instead of the first one's place", async () => {
  const busy = async () => [aParticipant({ id: "ana-llama3.2-3b" })];
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants: busy });
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]!.id).toBe("ana-llama3.2-3b-box");
});

test.each([
  ["follows its model server to another model when none was named", [], true],
  ["keeps the model that was named", ["--model", "llama3.2:3b"], false],
])("a participant %s", async (_what, args, followModel) => {
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants });
  const running = world.run("join", "ABC234", ...args);
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]).toMatchObject({ followModel });
});

test("a model of a llama-server for embeddings joins without chat, and the line says so", async () => {
  const fetch: CliContext["fetch"] = async (url, init) => {
    if (!url.startsWith("http://127.0.0.1:8080/")) throw new TypeError("fetch failed");
    const isPost = init?.method === "POST";
    const error = { message: '"input" or "content" must be provided' };
    return Response.json(isPost ? { error } : { data: [{ id: "bge-m3", owned_by: "llamacpp" }] });
  };
  const world = makeWorld({ fetch }, { getRoom, listParticipants });
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]).toMatchObject({
    model: "bge-m3",
    isModelListed: true,
    capabilities: { embeddings: "supported", chatCompletions: "unsupported" },
  });
  expect(world.stderr.text).toContain(
    "Sharing bge-m3 from llama.cpp as ana-bge-m3, for embeddings\n",
  );
});

test("every option reaches the participant, and secrets reach nothing else", async () => {
  const env = { API_KEY: "Bearer sk-1", ROOM_PASSWORD: "swordfish" };
  const world = makeWorld({ env }, { getRoom, listParticipants });
  const who = ["--id", "big", "--nickname", "Cloud", "--password-env", "ROOM_PASSWORD"];
  const what = ["--endpoint", "https://api.example.com/v1", "--model", "big-1"];
  const local = ["--header", "X-One: 1", "--header", "X-Two: a:b"];
  const secret = ["--header-env", "Authorization=API_KEY", "--auth-header", "X-Key: k"];
  const more = [
    ...["--specs", '{"gpu":"H100"}', "--config", '{"top_p":0.5}'],
    ...["--max-concurrency", "4", "--responses", "translated", "--messages", "native"],
    ...["--tokens-per-day", "1000", "--per-person-tokens-per-day", "100"],
    ...["--requests-per-minute", "6", "--hours", "22-6"],
  ];
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
    config: { top_p: 0.5, maxConcurrency: 4, responses: "translated", messages: "native" },
    budget: {
      tokensPerDay: 1_000,
      requestsPerMinute: 6,
      hours: "22-6",
    },
  });
  expect(world.stderr.text + world.stdout.text).not.toMatch(/sk-1|swordfish/);
  expect(world.stderr.text).toContain("! --per-person-tokens-per-day limits nothing any more");
});

test.each([
  ["--tokens-per-day", "0"],
  ["--requests-per-minute", "1.5"],
  ["--hours", "18:00-23:00"],
  ["--hours", "18-25"],
  ["--hours", "0-24"],
])("%s %s ends the command with an error that says what is valid", async (option, value) => {
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants });
  expect(await world.run("join", "ABC234", option, value)).toBe(2);
  expect(world.stderr.text).toMatch(/Must be (a whole number|two different hours)/);
  expect(world.participants).toEqual([]);
});

test("without an option there is no budget", async () => {
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants });
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]?.budget).toBeUndefined();
});

test.each([
  [["--quiet"], false],
  [["--json"], true],
  [["--json", "--quiet"], true],
])("join %j measures responses: %s", async (args, isMetered) => {
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants });
  const running = world.run("join", "ABC234", ...args);
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]?.isMetered).toBe(isMetered);
});

test("join measures only responses whose rows it shows", async () => {
  const world = makeWorld(
    { fetch: ollama, world: passing({ after: noTimers }) },
    { getRoom, listParticipants },
  );
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  const [{ isMetered, onNotice } = {}] = world.participants;
  const measured = Array.from({ length: 25 }, () => {
    const is = typeof isMetered === "function" && isMetered();
    onNotice?.({
      ...{ kind: "request-ended", path: "/chat/completions", model: "a", status: 200 },
      client: undefined,
      ...{ durationMs: 5, outcome: "complete", code: undefined, reason: undefined },
    });
    return is;
  });
  expect(measured).toEqual(measured.map((_, index) => index < 20));
  world.stop();
  await running;
  expect(world.stderr.text).toContain("… 5 more, 0 failed\n");
});

test("without a model server the error names one to start", async () => {
  const world = makeWorld();
  expect(await world.run("join", "ABC234")).toBe(1);
  expect(world.stderr.text).toContain("No model server found on this machine (checked Ollama");
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
      const verdict = { kind: "provider-readiness", since: 0 } as const;
      onNotice?.({ ...verdict, readiness: "down", problem: "refused" });
      return idleParticipant(running);
    },
  };
}

test("a participant the hub refuses for good ends the command with the refusal's exit code", async () => {
  const stop = { reason: "Wrong password", code: "invalid_password", hint: "Ask the host" };
  const stopped = Promise.resolve(stop);
  const world = makeWorld(participantThat({ stopped }), { getRoom, listParticipants });
  expect(await world.run("join", "ABC234")).toBe(4);
  expect(world.stderr.text).toContain("error: Wrong password\n→ Ask the host\n");
});

test("notices are readable lines that cannot control the terminal", async () => {
  const stopped = Promise.resolve({ reason: "enough", code: "replaced" });
  const world = makeWorld(participantThat({ stopped }), { getRoom, listParticipants });
  await world.run("join", "ABC234");
  expect(world.stderr.text).toContain(
    "disconnected: gone\ufffd[2J; reconnecting, next attempt in 500 ms",
  );
  expect(world.stderr.text).toContain("the model server is down: refused; retrying");
});

test("--json prints the same as NDJSON on stdout", async () => {
  const stopped = Promise.resolve({ reason: "enough", code: "replaced" });
  const world = makeWorld(participantThat({ stopped }), { getRoom, listParticipants });
  await world.run("join", "ABC234", "--json");
  expect(world.stderr.text).toBe("error: enough\n");
  const notices = world.stdout.text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(notices).toMatchObject([{ kind: "disconnected" }, { kind: "provider-readiness" }]);
});

const unreachable = () => Promise.reject(new HubUnreachableError("http://x", new Error("no")));

test.each([
  [
    "a room with a password, and none given",
    4,
    { getRoom: async () => aRoom({ passwordProtected: true }) },
  ],
  ["a hub that is unreachable", 5, { getRoom: unreachable }],
])("%s ends join with %i before anything starts", async (_name, code, client) => {
  const world = makeWorld({ fetch: ollama }, client);
  const invite = "http://10.0.0.9:5050/rooms/ABC234";
  expect(await world.run("join", invite, "--id", "ana")).toBe(code);
  expect(world.stderr.text).toMatch(/^error: .+\n→ .+\n$/);
  expect(world.participants).toEqual([]);
});

test("behind a proxy the agent is left to find the hub", async () => {
  const env = { HTTPS_PROXY: "http://proxy:3128" };
  const world = makeWorld({ fetch: ollama, env }, { getRoom: unreachable });
  const running = world.run("join", "http://hub.example.org/rooms/ABC234");
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

test("the room's password is read from ROOMHUB_PASSWORD", async () => {
  const protectedRoom = async () => aRoom({ passwordProtected: true });
  const env = { ROOMHUB_PASSWORD: "swordfish" };
  const world = makeWorld({ fetch: ollama, env }, { getRoom: protectedRoom, listParticipants });
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  world.stop();
  await running;
  expect(world.participants[0]!.password).toBe("swordfish");
});

/** A machine on which Ollama runs with several models. */
const severalModels: CliContext["fetch"] = async (url) => {
  if (!url.startsWith("http://127.0.0.1:11434/")) throw new TypeError("fetch failed");
  return Response.json({
    data: [{ id: "llama3.2:3b" }, { id: "nomic-embed-text" }, { id: "qwen3" }],
  });
};

async function joined(world: ReturnType<typeof makeWorld>, ...args: string[]): Promise<number> {
  const running = world.run("join", "ABC234", ...args);
  await untilJoined(world);
  world.stop();
  return running;
}

test("--all-models makes every model a participant of one process, and all of them leave", async () => {
  const world = makeWorld({ fetch: severalModels }, { getRoom, listParticipants });
  expect(await joined(world, "--all-models")).toBe(0);
  expect(world.participants.map(({ id, model }) => [id, model])).toEqual([
    ["ana-llama3.2-3b", "llama3.2:3b"],
    ["ana-qwen3", "qwen3"],
  ]);
  expect(world.closedParticipants).toBe(2);
  expect(world.stderr.text).toContain("ana-qwen3 left room ABC234");
});

test("two models of one name do not take each other's id", async () => {
  const args = ["--model", "a/llama3", "--model", "b/llama3", "--endpoint", "http://127.0.0.1:9"];
  const world = makeWorld({}, { getRoom, listParticipants });
  await joined(world, ...args);
  expect(world.participants.map(({ id }) => id)).toEqual(["ana-llama3", "ana-llama3-box"]);
});

test.each([
  [["--all-models", "--model", "x"], "--all-models and --model cannot be combined"],
  [["--all-models", "--id", "x"], "--id names one participant"],
  [["--model", "x", "--model", "y", "--id", "z"], "--id names one participant"],
])("%j contradicts itself", async (args, message) => {
  const world = makeWorld({ fetch: severalModels }, { getRoom, listParticipants });
  expect(await world.run("join", "ABC234", ...args)).toBe(2);
  expect(world.stderr.text).toContain(message);
});

/** An interactive terminal with a user who replies to prompts. */
function terminal(answers: Parameters<typeof answersOf>[1]): Partial<CliContext> & {
  questions: string[];
} {
  const questions: string[] = [];
  return {
    questions,
    fetch: severalModels,
    env: { NO_COLOR: "1" },
    isStdinTTY: true,
    stderr: capture(100),
    prompts: answersOf(questions, answers),
  };
}

test("on a terminal join prompts for models, and for a protected room's password", async () => {
  const { questions, ...context } = terminal({ some: ["qwen3"], secret: "swordfish" });
  const protectedRoom = async () => aRoom({ passwordProtected: true });
  const world = makeWorld(context, { getRoom: protectedRoom, listParticipants });
  expect(await joined(world)).toBe(0);
  expect(world.participants).toMatchObject([{ model: "qwen3", password: "swordfish" }]);
  expect(questions).toEqual([
    "Select models to share | [llama3.2:3b] | qwen3",
    "Join password of room ABC234 (needed to share, not to use)",
  ]);
});

test.each([
  ["with --yes", ["--yes"], {}],
  ["with --json", ["--json"], {}],
  ["with --quiet", ["--quiet"], {}],
  ["on a dumb terminal", [], { env: { TERM: "dumb" } }],
  ["without a terminal to type at", [], { isStdinTTY: false }],
  ["without a terminal to read from", [], { stderr: capture() }],
])("%s join does not prompt and shares the first model", async (_name, args, over) => {
  const { questions, ...context } = terminal({});
  const world = makeWorld({ ...context, ...over }, { getRoom, listParticipants });
  expect(await joined(world, ...args)).toBe(0);
  expect(world.participants.map(({ model }) => model)).toEqual(["llama3.2:3b"]);
  expect(questions).toEqual([]);
});

test("--quiet prints nothing without problems", async () => {
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants });
  expect(await joined(world, "--quiet")).toBe(0);
  expect(world.stderr.text + world.stdout.text).toBe("");
});

test("p pauses all participants and resumes them, other keys do nothing, and the terminal is given back", async () => {
  const world = makeWorld(terminal({}), { getRoom, listParticipants });
  const running = world.run("join", "ABC234", "--all-models");
  await vi.waitFor(() => expect(world.participants).toHaveLength(2));
  for (const key of "xpp") world.press(key);
  expect(world.pauses).toEqual([
    "pause ana-llama3.2-3b",
    "pause ana-qwen3",
    "resume ana-llama3.2-3b",
    "resume ana-qwen3",
  ]);
  world.stop();
  await running;
  world.press("p");
  expect(world.pauses).toHaveLength(4);
  expect(world.stderr.text).toContain("paused: no new requests; p resumes\n");
});

test("without a terminal no key is read", async () => {
  const world = makeWorld({ fetch: ollama, isStdinTTY: false }, { getRoom, listParticipants });
  const running = world.run("join", "ABC234");
  await untilJoined(world);
  world.press("p");
  world.stop();
  await running;
  expect(world.pauses).toEqual([]);
});

test("one of several that is refused does not end the others, the last one does", async () => {
  const ends = [Promise.withResolvers<StopReason>(), Promise.withResolvers<StopReason>()];
  let made = 0;
  const world = makeWorld(
    {
      fetch: severalModels,
      createParticipant: async () => {
        const { promise } = ends[made++]!;
        return idleParticipant({ stopped: promise });
      },
    },
    { getRoom, listParticipants },
  );
  let hasEnded = false;
  const running = world.run("join", "ABC234", "--all-models").finally(() => (hasEnded = true));
  await vi.waitFor(() => expect(made).toBe(2));
  ends[0]!.resolve({ code: "participant_id_taken", reason: "the id is taken" });
  await new Promise(setImmediate);
  expect(hasEnded).toBe(false);
  ends[1]!.resolve({ code: "replaced", reason: "taken over" });
  expect(await running).toBe(1);
  expect(world.stderr.text).toContain("error: taken over\n");
});

test("join alone finds a hub by its announcement, and shows the search", async () => {
  const mdns: CliContext["mdns"] = {
    announce: async () => async () => {},
    browse: async (_addresses, onHub) => {
      onHub("http://10.0.0.9:5050");
      return async () => {};
    },
  };
  const client = { getRoom, listParticipants, listRooms: async () => [aRoom()] };
  const after: After = (ms, callback) => {
    // The search is slow, and a test that waits for it times out first.
    if (ms < 1000) callback();
    else setImmediate(callback);
    return () => {};
  };
  const world = makeWorld({ fetch: ollama, mdns, world: passing({ after }) }, client);
  const running = world.run("join");
  await untilJoined(world);
  world.stop();
  expect(await running).toBe(0);
  expect(world.stderr.text).toContain("Searching this machine and its network for hubs (2 s) …\n");
  expect(world.participants[0]!.room).toBe("ABC234");
});

test("a mistyped code is an error with the right command", async () => {
  const notFound = new RoomhubError("No room ABC235", {
    ...{ status: 404, code: "room_not_found", param: "", hint: undefined },
    ...{ requestId: undefined, retryAfterMs: undefined, participants: undefined },
  });
  const client = { getRoom: () => Promise.reject(notFound), listRooms: async () => [aRoom()] };
  const world = makeWorld({ fetch: ollama }, client);
  expect(await world.run("join", "http://10.0.0.9:5050/rooms/ABC235")).toBe(3);
  expect(world.stderr.text).toBe(
    [
      "error: The hub at http://10.0.0.9:5050 has no room ABC235",
      "→ did you mean:",
      "  roomhub join http://10.0.0.9:5050/rooms/ABC234  # lab, 2 participants",
      "",
    ].join("\n"),
  );
});

/** The notices of a participant that serves a request, loses its hub for a moment, and stops. */
async function told(stderr: ReturnType<typeof capture>, env: CliContext["env"]): Promise<string> {
  let nowMs = 0;
  const context: Partial<CliContext> = {
    ...{ stderr, env, fetch: ollama, world: passing({ nowMs: () => nowMs }) },
    createParticipant: async ({ onNotice, room, id }) => {
      const tell = (notice: ParticipantNotice) => {
        nowMs += 2000;
        onNotice?.(notice);
      };
      tell({ kind: "joined", room, id, warnings: ["its id is another's model"] });
      tell({ kind: "connected" });
      const client = { kind: "none", id: "" } as const;
      const request = { path: "/chat/completions", model: "llama3.2:3b", client, durationMs: 2400 };
      tell({ kind: "request-started", ...request });
      tell({
        kind: "request-ended",
        ...request,
        status: 200,
        outcome: "complete",
        code: undefined,
        reason: undefined,
        ...{ ttftMs: 340, outputTokens: 80, tokensPerSecond: 33.3 },
      });
      tell({ kind: "disconnected", reason: "the hub is stopping", retryInMs: 250 });
      tell({ kind: "disconnected", reason: "ECONNREFUSED", retryInMs: 500 });
      tell({ kind: "connected" });
      const stopped = Promise.resolve({ code: "replaced", reason: "Another agent took over." });
      return idleParticipant({ stopped });
    },
  };
  await makeWorld(context, { getRoom, listParticipants }).run("join", "ABC234");
  return `\n${stderr.text}`.replaceAll("\u001b", "ESC").replaceAll(/\d\d:\d\d:\d\d/g, "12:03:04");
}

test("a session in a pipe", async () => {
  expect(await told(capture(), {})).toMatchInlineSnapshot(`
    "
    Joining room ABC234 (lab) at http://127.0.0.1:5050
    Sharing llama3.2:3b from Ollama as ana-llama3.2-3b
    ! its id is another's model
    12:03:04  connected; Ctrl+C leaves
    TIME      MODEL           TTFT  TOK/S  TOKENS    TOOK  OUTCOME
    12:03:04  llama3.2:3b   340 ms   33.3      80   2.4 s  ok 200 (chat/completions)
    12:03:04  disconnected: the hub is stopping; reconnecting, next attempt in 250 ms
    12:03:04  reconnected after 4.0 s
    error: Another agent took over.
    "
  `);
});

test("a session on a terminal", async () => {
  expect(await told(capture(100), {})).toMatchInlineSnapshot(`
    "
    Joining room ABC234 (lab) at http://127.0.0.1:5050
    Sharing llama3.2:3b from Ollama as ana-llama3.2-3b
    ESC[33m! its id is another's modelESC[39m
    ESC[2m12:03:04ESC[22m  ESC[32mconnected; p pauses, P for an hour, Ctrl+C leavesESC[39m
    ESC[2mTIME    ESC[22m  ESC[2mMODEL       ESC[22m  ESC[2m  TTFTESC[22m  ESC[2mTOK/SESC[22m  ESC[2mTOKENSESC[22m  ESC[2m  TOOKESC[22m  ESC[2mOUTCOMEESC[22m
    ESC[2m12:03:04ESC[22m  llama3.2:3b   340 ms   33.3      80   2.4 s  ESC[32mok 200 (chat/completions)ESC[39m
    ESC[2m12:03:04ESC[22m  ESC[33mdisconnected: the hub is stopping; reconnecting, next attempt in 250 msESC[39m
    ESC[2m12:03:04ESC[22m  ESC[32mreconnected after 4.0 sESC[39m
    ESC[31merror: Another agent took over.ESC[39m
    "
  `);
});

test("a session on a terminal without colours", async () => {
  expect(await told(capture(60), { NO_COLOR: "1" })).toMatchInlineSnapshot(`
    "
    Joining room ABC234 (lab) at http://127.0.0.1:5050
    Sharing llama3.2:3b from Ollama as ana-llama3.2-3b
    ! its id is another's model
    12:03:04  connected; p pauses, P for an hour, Ctrl+C leaves
    TIME      MODEL           TTFT  TOK/S    TOOK  OUTCOME
    12:03:04  llama3.2:3b   340 ms   33.3   2.4 s  ok 200 (chat…
    12:03:04  disconnected: the hub is stopping; reconnecting, next attempt in 250 ms
    12:03:04  reconnected after 4.0 s
    error: Another agent took over.
    "
  `);
});

test("join --own-first keeps the client key, and prints how to use it", async () => {
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants });
  const running = world.run("join", "ABC234", "--own-first");
  await untilJoined(world);
  const [{ ownFirst, onClientKey, id, hubUrl } = {}] = world.participants;
  expect(ownFirst).toBe(true);
  onClientKey?.("rhc_key");
  await vi.waitFor(() => expect(world.clientKeys).toHaveLength(1));
  expect(world.clientKeys).toEqual([{ hubUrl, room: "ABC234", id, token: "rhc_key" }]);
  expect(world.stderr.text).toContain(
    `Your requests go first at ${id} with OPENAI_API_KEY=rhc_key; from this machine also without it, unless a proxy is in between\n`,
  );
  world.stop();
  await running;
});

test("join --quiet keeps the client key without printing it", async () => {
  const world = makeWorld({ fetch: ollama }, { getRoom, listParticipants });
  const running = world.run("join", "ABC234", "--own-first", "--quiet");
  await untilJoined(world);
  world.participants[0]?.onClientKey?.("rhc_key");
  await vi.waitFor(() => expect(world.clientKeys).toHaveLength(1));
  expect(world.stderr.text).not.toContain("rhc_");
  world.stop();
  await running;
});
