import { RoomhubError } from "@roomhub/client";
import { expect, test } from "vitest";
import { ollamaWith, refusing } from "../snapshots/scenery.fixture.ts";
import {
  aComplete,
  aFailure,
  aParticipant,
  aRoom,
  eventsOf,
  makeWorld,
  passing,
} from "../test-context.fixture.ts";

test("room create prints the code alone on stdout and how to use it on stderr", async () => {
  const asked: unknown[] = [];
  const world = makeWorld(
    { env: { SECRET: "swordfish" } },
    {
      createRoom: async (body) => {
        asked.push(body);
        return { room: aRoom({ passwordProtected: true }), hostId: "h" };
      },
    },
  );
  expect(await world.run("room", "create", "lab", "--password-env", "SECRET")).toBe(0);
  expect(asked).toEqual([{ name: "lab", password: "swordfish" }]);
  expect(world.stdout.text).toBe("ABC234\n");
  expect(world.stderr.text).toContain(
    "roomhub join http://127.0.0.1:5050/rooms/ABC234\n          (prompts for the join password,",
  );
  expect(world.stderr.text).not.toContain("swordfish");
});

test.each([
  ["--password-file", "/run/secret"],
  ["--password-file", "-"],
])("a password comes from the first line of %s %s", async (...args) => {
  const asked: unknown[] = [];
  const world = makeWorld(
    { readFile: async () => "tuna\nrest", readStdin: async () => "tuna\r\n" },
    {
      createRoom: async (body) => {
        asked.push(body);
        return { room: aRoom(), hostId: "h" };
      },
    },
  );
  await world.run("room", "create", "lab", ...args);
  expect(asked).toEqual([{ name: "lab", password: "tuna" }]);
});

test("tables are aligned for people and have no colours in a pipe", async () => {
  const listRooms = async () => [aRoom(), aRoom({ code: "XYZ789", name: "a long name" })];
  const world = makeWorld({}, { listRooms });
  await world.run("room", "list");
  expect(world.stdout.text).toBe(
    [
      "CODE    NAME         PARTICIPANTS  JOIN PASSWORD  CREATED",
      "ABC234  lab          2             no             2026-01-02",
      "XYZ789  a long name  2             no             2026-01-02",
      "",
    ].join("\n"),
  );
});

test("participants shows who is reachable, and how", async () => {
  const away = aParticipant({
    id: "bob",
    connection: {
      kind: "tunnel",
      connected: false,
      lastTunnelSeenAt: null,
      path: "none",
      readiness: "down",
    },
  });
  const lost = aParticipant({
    id: "eve",
    connection: {
      ...aParticipant().connection,
      ...{ connected: false, readiness: "loading", resuming: { streams: 1, sinceMs: 3_000 } },
      problem: "connection lost 3 s ago, 1 stream waits for it",
    },
  });
  const world = makeWorld({}, { listParticipants: async () => [aParticipant(), away, lost] });
  await world.run("participants", "ABC234");
  const lines = world.stdout.text.split("\n");
  expect(lines[1]).toMatch(/^ana-llama3 .* online {2}tunnel .* 1\/4 /);
  expect(lines[2]).toMatch(/^bob .* not connected/);
  expect(lines[3]).toMatch(/^eve .* tunnel, connection lost 3 s ago, 1 stream waits for it/);
});

test("context and features are columns where something is known of them", async () => {
  const unknown = { vision: "unknown", reasoning: "unknown", logprobs: "unknown" } as const;
  const known = aParticipant({
    context: { tokens: 8_192, from: "loaded" },
    features: { tools: "supported", structuredOutput: "enforced", ...unknown },
    answersAs: "qwen3",
  });
  const world = makeWorld({}, { listParticipants: async () => [known] });
  await world.run("participants", "ABC234");
  const [head, line] = world.stdout.text.split("\n");
  expect(head).toMatch(/ MODEL +CONTEXT {2}CAN +STATUS /);
  expect(line).toMatch(/ llama3 \(answers as qwen3\) {2}8k +tools schema {2}online /);
});

test("a participant without chat is listed with what it is for", async () => {
  const none = { chatCompletions: "unsupported", openResponses: "unsupported" } as const;
  const spoken = { audioTranslations: "unsupported", audioTranscriptions: "supported" } as const;
  const whisper = aParticipant({ capabilities: { ...none, ...spoken } });
  const world = makeWorld({}, { listParticipants: async () => [whisper] });
  await world.run("participants", "ABC234");
  expect(world.stdout.text).toMatch(/ CAN +STATUS .*\n.* transcription {2}online /);
});

test("an empty room is reported on stderr with the command that joins it", async () => {
  const world = makeWorld({}, { listModels: async () => [] });
  expect(await world.run("models", "abc234")).toBe(0);
  expect(world.stdout.text).toBe("");
  expect(world.stderr.text).toContain("→ roomhub join http://127.0.0.1:5050/rooms/ABC234");
});

test.each([
  [["room", "list", "--json"], { rooms: [aRoom()] }],
  [["participants", "ABC234", "--json"], { participants: [aParticipant()] }],
  [["models", "ABC234", "--json"], { object: "list", data: [] }],
  [["leave", "ABC234", "ana", "--json"], { success: true }],
  [["health", "--json"], { status: "ok", version: "1", uptimeSeconds: 3, timestamp: "t" }],
])("%j prints one JSON object and nothing else", async (args, expected) => {
  const world = makeWorld(
    {},
    {
      listRooms: async () => [aRoom()],
      listParticipants: async () => [aParticipant()],
      listModels: async () => [],
      leave: async () => {},
      health: async () => ({ status: "ok", version: "1", uptimeSeconds: 3, timestamp: "t" }),
    },
  );
  expect(await world.run(...args)).toBe(0);
  expect(JSON.parse(world.stdout.text)).toEqual(expected);
  expect(world.stderr.text).toBe("");
});

test("--json has nothing that a terminal obeys, and the same values", async () => {
  const hostile = "\u009b31m\u007f\u0085\u202egnp.exe\u202c\u2066x\u2069\u2028";
  const room = aRoom({ name: hostile });
  const participant = aParticipant({ nickname: hostile, specs: { [hostile]: hostile } });
  const failure = { ...aFailure, error: hostile };
  const world = makeWorld(
    {},
    {
      listRooms: async () => [room],
      listParticipants: async () => [participant],
      events: () => eventsOf(failure),
    },
  );
  await world.run("room", "list", "--json");
  await world.run("participants", "ABC234", "--json");
  await world.run("events", "--json");
  const lines = world.stdout.text.split("\n");
  for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Bidi_C}\u2028\u2029]/u);
  expect(lines.slice(0, -1).map((line) => JSON.parse(line))).toEqual([
    { rooms: [room] },
    { participants: [participant] },
    failure,
  ]);
});

test.each([
  [["hub.example:6060"], "http://hub.example:6060"],
  [["hub.example"], "http://hub.example:5050"],
  [["http://hub:6060/rooms/ABC234/v1"], "http://hub:6060"],
  [["abc234", "--hub", "http://hub:6060"], "http://hub:6060"],
  [[], "http://127.0.0.1:5050"],
])("health %j is of the hub at %s", async (args, url) => {
  const health = { status: "ok", version: "1.2.3", uptimeSeconds: 61, timestamp: "t" } as const;
  const world = makeWorld({}, { health: async () => health });
  expect(await world.run("health", ...args)).toBe(0);
  expect(world.stdout.text).toBe(`${url} ok (roomhub 1.2.3, up 1 min 01 s)\n`);
});

test("health of a model server says so, and how to share it", async () => {
  const world = makeWorld({ fetch: ollamaWith("tiny") }, { health: refusing(404, {}) });
  expect(await world.run("health", "http://127.0.0.1:11434")).toBe(5);
  expect(world.stderr.text).toContain("is a model server, not a hub: it lists tiny\n→ share its");
});

test("a hub that is draining is a failure", async () => {
  const draining = { status: "draining", version: "1", uptimeSeconds: 3, timestamp: "t" } as const;
  const world = makeWorld({}, { health: async () => draining });
  expect(await world.run("health")).toBe(1);
});

test("leave proves itself with the token from the named variable", async () => {
  const calls: unknown[] = [];
  const world = makeWorld(
    { env: { TOKEN: "rhp_x" } },
    {
      leave: async (...args) => {
        calls.push(args);
      },
    },
  );
  await world.run("leave", "abc234", "ana", "--token-env", "TOKEN");
  expect(calls).toEqual([["ABC234", "ana", { token: "rhp_x" }]]);
});

test("events prints one line each, as NDJSON with --json", async () => {
  const client = { events: () => eventsOf(aComplete, aFailure) };
  const people = makeWorld({}, client);
  expect(await people.run("events", "ABC234")).toBe(0);
  const [first, second] = people.stdout.text.split("\n");
  expect(first).toContain("llm.complete");
  expect(first).toContain("ttft 120 ms, total 2.4 s, 80 tokens, 33.3 tokens/s");
  expect(second).toContain("failed in routing: No participant serves gpt-9 (model_not_found)");
  const program = makeWorld({}, client);
  await program.run("events", "--json");
  const lines = program.stdout.text.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual([aComplete, aFailure]);
});

test("events without a room watches the whole hub", async () => {
  const codes: unknown[] = [];
  const events = (code?: string) => {
    codes.push(code);
    return eventsOf();
  };
  const world = makeWorld({}, { events });
  await world.run("events");
  await world.run("events", "abc234");
  expect(codes).toEqual([undefined, "ABC234"]);
});

test("a stop signal ends events with 0, a second one at once", async () => {
  let nowMs = 0;
  const opened = Promise.withResolvers<AbortSignal>();
  const released = Promise.withResolvers<void>();
  const events = async function* (_code?: string, options?: { signal?: AbortSignal }) {
    opened.resolve(options!.signal!);
    await released.promise;
    yield* eventsOf();
  };
  const world = makeWorld({ world: passing({ nowMs: () => nowMs }) }, { events });
  const running = world.run("events");
  const signal = await opened.promise;
  world.stop();
  expect(signal.aborted).toBe(true);
  nowMs = 50;
  world.stop();
  expect(world.exits).toEqual([]);
  nowMs = 200;
  world.stop();
  expect(world.exits).toEqual([130]);
  released.resolve();
  expect(await running).toBe(0);
});

function answering(status: number, type: string, body: string) {
  const asked: { url: string; body: Record<string, unknown>; headers: unknown }[] = [];
  const world = makeWorld(
    {
      fetch: async (url, init) => {
        const sent = JSON.parse(init.body as string) as Record<string, unknown>;
        asked.push({ url, body: sent, headers: init.headers });
        const headers = { "content-type": type, "x-roomhub-participant": "zo%C3%AB" };
        return new Response(body, { status, headers });
      },
      readStdin: async () => "from a pipe",
      isStdinTTY: false,
    },
    { listRooms: async () => [aRoom()] },
  );
  return { world, asked };
}

const chatStream = 'data: {"choices":[{"delta":{"content":"Hi\\n\\u001b[2J"}}]}\n\n';

test("chat streams the response from any participant and leaves the terminal alone", async () => {
  const { world, asked } = answering(200, "text/event-stream", `${chatStream}data: [DONE]\n\n`);
  expect(await world.run("chat", "Hello", "--room", "abc234")).toBe(0);
  expect(world.stdout.text).toBe("Hi\n\ufffd[2J\n");
  expect(asked[0]!.url).toBe("http://127.0.0.1:5050/rooms/ABC234/v1/chat/completions");
  expect(asked[0]!.body).toEqual({
    model: "*",
    stream: true,
    messages: [{ role: "user", content: "Hello" }],
    stream_options: { include_usage: true },
  });
  expect(asked[0]!.headers).toMatchObject({ authorization: "Bearer as-Ana" });
});

test.each([
  ["bob", { authorization: "Bearer as-bob" }],
  [undefined, { accept: "text/event-stream", "content-type": "application/json" }],
])(
  "chat --as %s shows that name to the room, and a user name that is none is left out",
  async (as, headers) => {
    const { world, asked } = answering(200, "text/event-stream", `${chatStream}data: [DONE]\n\n`);
    world.context.userName = "Ana María";
    await world.run("chat", "Hello", "--room", "ABC234", ...(as === undefined ? [] : ["--as", as]));
    if (as === undefined) expect(asked[0]!.headers).toEqual(headers);
    else expect(asked[0]!.headers).toMatchObject(headers);
  },
);

test("chat uses the responses surface, another selector, stdin, and the only room there is", async () => {
  const stream =
    'data: {"type":"response.output_text.delta","delta":"Hi"}\n\ndata: {"type":"response.completed"}\n\n';
  const { world, asked } = answering(200, "text/event-stream", stream);
  expect(await world.run("chat", "-", "--responses", "--model", "model:llama3", "--json")).toBe(0);
  expect(asked[0]!.url).toMatch(/\/rooms\/ABC234\/v1\/responses$/);
  const input = [{ role: "user", content: "from a pipe" }];
  expect(asked[0]!.body).toEqual({ model: "model:llama3", stream: true, input });
  expect(JSON.parse(world.stdout.text)).toMatchObject({ text: "Hi", participantId: "zoë" });
});

test("a truncated response keeps its text, prints an error on stderr and fails", async () => {
  const error = 'data: {"error":{"message":"The tunnel closed","code":"tunnel_lost"}}\n\n';
  const { world } = answering(200, "text/event-stream", `${chatStream}${error}data: [DONE]\n\n`);
  expect(await world.run("chat", "Hello", "--room", "ABC234")).toBe(1);
  expect(world.stdout.text).toContain("Hi");
  expect(world.stderr.text).toBe("error: The tunnel closed (tunnel_lost)\n");
});

test("a refused chat shows the hub's hint and the participants", async () => {
  const error = {
    message: "No participant serves x",
    code: "model_not_found",
    hint: "did you mean y?",
    participants: [{ id: "ana", model: "y", reason: "serves y" }],
  };
  const { world } = answering(404, "application/json", JSON.stringify({ error }));
  expect(await world.run("chat", "Hello", "--room", "ABC234", "--model", "x")).toBe(3);
  expect(world.stderr.text).toBe(
    "error: No participant serves x\n→ did you mean y?\n  ana (y): serves y\n",
  );
});

test("chat with several rooms is a usage error that lists them", async () => {
  const listRooms = async () => [aRoom(), aRoom({ code: "XYZ789" })];
  const world = makeWorld({}, { listRooms });
  expect(await world.run("chat", "Hello")).toBe(2);
  expect(world.stderr.text).toContain(
    "  roomhub chat http://127.0.0.1:5050/rooms/XYZ789 Hello  # lab, 2 participants\n",
  );
});

test("chat takes the room before the prompt, which may come from a pipe", async () => {
  const { world, asked } = answering(200, "text/event-stream", `${chatStream}data: [DONE]\n\n`);
  expect(await world.run("chat", "http://other:6060/rooms/xyz789", "-")).toBe(0);
  expect(asked[0]!.url).toBe("http://other:6060/rooms/XYZ789/v1/chat/completions");
  expect(asked[0]!.body["messages"]).toEqual([{ role: "user", content: "from a pipe" }]);
});

test.each([
  ["abc234", "http://127.0.0.1:5050/rooms/ABC234"],
  ["THANKS", "http://127.0.0.1:5050/rooms/THANKS"],
  ["http://other:6060/rooms/xyz789", "http://other:6060/rooms/XYZ789"],
  ["http://other:6060", "http://other:6060/rooms/ABC234"],
])("with %s alone chat takes it as the room, and the prompt from a pipe", async (word, room) => {
  const { world, asked } = answering(200, "text/event-stream", `${chatStream}data: [DONE]\n\n`);
  expect(await world.run("chat", word)).toBe(0);
  expect(asked[0]!.url).toBe(`${room}/v1/chat/completions`);
  expect(asked[0]!.body["messages"]).toEqual([{ role: "user", content: "from a pipe" }]);
  expect(world.stderr.text).toBe("");
});

test.each([
  ["thanks", "ABC234", "thanks"],
  ["thanks", "THANKS", "from a pipe"],
])("%s alone is the prompt in room ABC234, unless it is its code: %s", async (word, code, sent) => {
  const { world, asked } = answering(200, "text/event-stream", `${chatStream}data: [DONE]\n\n`);
  const { createClient } = world.context;
  const listRooms = async () => [aRoom({ code })];
  world.context.createClient = (url) => ({ ...createClient(url), listRooms });
  expect(await world.run("chat", word)).toBe(0);
  expect(asked[0]!.url).toBe(`http://127.0.0.1:5050/rooms/${code}/v1/chat/completions`);
  expect(asked[0]!.body["messages"]).toEqual([{ role: "user", content: sent }]);
});

test("chat without a terminal reports the missing prompt", async () => {
  const world = makeWorld({ isStdinTTY: false }, { listRooms: async () => [aRoom()] });
  expect(await world.run("chat", "ABC234")).toBe(2);
  expect(world.stderr.text).toBe(
    'error: The prompt is missing. Write: roomhub chat ABC234 "Your question"\n',
  );
});

test("an unexpected response of another server is reported as not a hub", async () => {
  const getRoom = () =>
    Promise.reject(
      new RoomhubError("http://x responded 404", {
        status: 404,
        code: "invalid_response",
        param: "",
        hint: "check the hub URL",
        requestId: undefined,
        retryAfterMs: undefined,
        participants: undefined,
      }),
    );
  const world = makeWorld({}, { getRoom });
  await world.run("room", "show", "ABC234");
  expect(world.stderr.text).toContain("→ check the hub URL");
});
