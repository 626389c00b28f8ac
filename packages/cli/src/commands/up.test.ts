import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import {
  aComplete,
  aFailure,
  aRoom,
  capture,
  idleParticipant,
  makeWorld,
  type TestWorld,
} from "../test-context.fixture.ts";
import { fixedPin } from "../tls/certificate.fixture.ts";

const ollama: CliContext["fetch"] = async (url) => {
  if (!url.startsWith("http://127.0.0.1:11434/")) throw new TypeError("fetch failed");
  return Response.json({ data: [{ id: "llama3.2" }] });
};

/** Without colours. */
const onTerminal = () => ({ fetch: ollama, stdout: capture(140), env: { NO_COLOR: "1" } });

/** What a hub announces, and how it responds. */
interface TestHub {
  events: readonly HubEvent[];
  client: Partial<Client>;
}

function hubWith(events: readonly HubEvent[], client: Partial<Client> = {}): TestHub {
  return {
    events,
    client: {
      listRooms: async () => [],
      createRoom: async ({ name }) => ({ room: aRoom({ name }), hostId: "h" }),
      ...client,
    },
  };
}

/** Runs until it has shown the events, then stops it. */
async function up(
  context: Partial<CliContext>,
  { events, client }: TestHub,
  ...args: string[]
): Promise<TestWorld & { code: number }> {
  const world = makeWorld(context, client);
  return Object.assign(world, { code: await watched(world, events, ...args) });
}

async function watched(
  world: TestWorld,
  events: readonly HubEvent[],
  ...args: string[]
): Promise<number> {
  const running = world.run("up", ...args);
  const ended = running.then(() => true);
  const turn = () => new Promise<false>((resolve) => setImmediate(resolve, false));
  while (world.stdout.text === "" && !(await Promise.race([ended, turn()])));
  world.tell(...events);
  world.stop();
  return running;
}

test("up shares within a budget", async () => {
  const limits = ["--tokens-per-day", "1000", "--hours", "18-23"];
  const world = await up({ fetch: ollama }, hubWith([]), "--port", "0", ...limits);
  expect(world.participants[0]?.budget).toMatchObject({ tokensPerDay: 1_000, hours: "18-23" });
});

test("up --own-first serves the owner's requests first, and prints the key that proves them", async () => {
  const world = await up({ fetch: ollama }, hubWith([]), "--own-first");
  const [{ ownFirst, onClientKey } = {}] = world.participants;
  expect(ownFirst).toBe(true);
  onClientKey?.("rhc_key");
  expect(world.stderr.text).toContain("OPENAI_API_KEY=rhc_key");
  expect((await up({ fetch: ollama }, hubWith([]))).participants[0]?.ownFirst).toBeUndefined();
});

test("up opens a hub, a room and a participant, and prints three lines to paste", async () => {
  const world = await up({ fetch: ollama }, hubWith([]), "--port", "0");
  expect(world.code).toBe(0);
  expect(world.hubs[0]).toMatchObject({ port: 0, store: undefined });
  expect(world.participants[0]).toMatchObject({
    hubUrl: "http://127.0.0.1:4242",
    room: "ABC234",
    id: "ana-llama3.2",
    endpoint: "http://127.0.0.1:11434",
  });
  expect(world.stdout.text).toContain("llama3.2 from Ollama as ana-llama3.2");
  const base = "http://127.0.0.1:4242/rooms/ABC234";
  expect(world.stdout.text).toContain(`curl -N ${base}/v1/chat/completions -d '{"model":"*",`);
  expect(world.stdout.text).toContain(`export OPENAI_BASE_URL=${base}/v1 OPENAI_API_KEY=roomhub\n`);
  expect(world.stdout.text).toContain(`roomhub join ${base}\n`);
  expect(world.stdout.text).toContain("--lan");
  expect([world.closedHubs, world.closedParticipants]).toEqual([1, 1]);
});

test("up leaves measuring to its hub", async () => {
  const world = await up({ fetch: ollama }, hubWith([]));
  expect(world.participants[0]?.isMetered).toBe(false);
});

test("with --lan other machines are given an address they can reach", async () => {
  const context = { fetch: ollama, commandName: "npx roomhub" };
  const world = await up(context, hubWith([]), "--lan");
  expect(world.stdout.text).toContain(
    ` -fsSO https://192.168.1.5:5050/roomhub.tgz && npx -y ./roomhub.tgz join 'http://192.168.1.5:5050/rooms/ABC234#pin=${fixedPin}'\n`,
  );
  expect(world.stdout.text).toContain("Open to anyone who can reach it.");
});

test("with --lan the hub seals itself, and what its room prints is encrypted or says that it is not", async () => {
  const world = await up({ fetch: ollama }, hubWith([]), "--lan");
  expect(world.hubs[0]?.tls).toMatchObject({ pin: fixedPin, only: false });
  const lines = world.stdout.text.split("\n");
  const request = lines.find((line) => line.includes("/chat/completions"));
  expect(request).toMatch(
    /^ {2}curl -k --pinnedpubkey sha256\/\/[\w+/]{43}= -N https:\/\/192\.168\.1\.5:5050\/rooms\//,
  );
  expect(world.stdout.text).toContain("any OpenAI client: the first line, with open for join\n");
  const plain = lines.findIndex((line) => line.includes("export OPENAI_BASE_URL=http:"));
  for (const line of [lines[plain - 1], lines.find((each) => each.startsWith("Base URL"))])
    expect(line).toContain("(not encrypted: only on a network you trust)");
});

test("with --lan --tls-only nothing that the room prints uses plain HTTP", async () => {
  const world = await up({ fetch: ollama }, hubWith([]), "--lan", "--tls-only");
  expect(world.hubs[0]?.tls).toMatchObject({ pin: fixedPin, only: true });
  expect(world.stdout.text).not.toMatch(/http:\/\/|not encrypted/);
});

test.each([
  ["--no-tls", ["--no-tls"]],
  ["the URL of a proxy in front", ["--public-url", "https://hub.example"]],
])("with --lan and %s the hub has no certificate of its own", async (_what, flags) => {
  const world = await up({ fetch: ollama }, hubWith([]), "--lan", ...flags);
  expect([world.hubs[0]?.tls, world.stdout.text]).toEqual([
    undefined,
    expect.not.stringMatching(/pin|trust/),
  ]);
});

test("without --lan the hub has no certificate", async () => {
  expect((await up({ fetch: ollama }, hubWith([]))).hubs[0]?.tls).toBeUndefined();
});

test.each([
  ["--lan", ["--lan"], 1],
  ["nothing", [], 0],
  ["--host of this network", ["--host", "192.168.1.5"], 0],
  ["--lan --no-mdns", ["--lan", "--no-mdns"], 0],
])(
  "with %s it announces itself to the network, if at all until it stops",
  async (_name, args, times) => {
    const announced: unknown[] = [];
    let withdrawn = 0;
    const mdns: CliContext["mdns"] = {
      announce: async (hub, addresses) => {
        announced.push([hub, addresses]);
        return async () => {
          withdrawn++;
        };
      },
      browse: async () => async () => {},
    };
    const world = await up({ fetch: ollama, mdns }, hubWith([]), ...args);
    expect(announced).toEqual(
      times === 0
        ? []
        : [[{ hostName: "box.local", port: 5050, version: "1.2.3" }, ["192.168.1.5"]]],
    );
    expect(withdrawn).toBe(times);
    expect(world.stdout.text.includes("Where installed, roomhub join finds it")).toBe(times === 1);
  },
);

test("a failed announcement is reported once, and up continues", async () => {
  const mdns: CliContext["mdns"] = {
    announce: async (_hub, _addresses, onProblem) => {
      onProblem("bind EACCES");
      onProblem("bind EACCES");
      return async () => {};
    },
    browse: async () => async () => {},
  };
  const world = await up({ fetch: ollama, mdns }, hubWith([]), "--lan");
  expect(world.code).toBe(0);
  expect(world.stderr.text).toBe(
    "! The hub is not announced on the network (bind EACCES); share the invite URL instead\nSHA-512 of roomhub-1.2.3.tgz, as handed out: 5ha512\nStopping: waiting for running requests; press Ctrl+C again to stop now\n",
  );
});

test("--quiet is the invite URL alone", async () => {
  const world = await up({ fetch: ollama }, hubWith([aComplete]), "--quiet");
  expect(world.stdout.text).toBe("http://127.0.0.1:5050/rooms/ABC234\n");
  expect(world.stderr.text).toBe("");
});

test("without a model server the demo model is shared and labelled", async () => {
  const world = await up({}, hubWith([]));
  expect(world.code).toBe(0);
  expect(world.participants[0]).toMatchObject({ model: "demo", id: "ana-demo", standIn: true });
  expect(world.participants[0]!.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  expect(world.stdout.text).toContain(
    "a built-in demo as ana-demo: no chat model found on this machine",
  );
});

/** A machine on which a model server responds from the given query on; before that with the status, if any. */
function startingServer(fromQuery: number, before?: number): CliContext["fetch"] {
  let queries = 0;
  return async (url) => {
    if (!url.startsWith("http://127.0.0.1:8080/")) throw new TypeError("fetch failed");
    if (++queries >= fromQuery) return Response.json({ data: [{ id: "models/tiny.gguf" }] });
    if (before === undefined) throw new TypeError("fetch failed");
    return Response.json({ error: { message: "no" } }, { status: before });
  };
}

test("a model server that starts later takes the place of the demo", async () => {
  const left: string[] = [];
  const world = makeWorld({ fetch: startingServer(3) }, hubWith([]).client);
  world.context.createParticipant = async (options) => {
    world.participants.push(options);
    return idleParticipant({
      close: async () => {
        left.push(options.id);
        // The last step of the exchange.
        if (options.id === "ana-demo" && left.length === 1) setImmediate(() => world.stop());
      },
    });
  };
  expect(await world.run("up")).toBe(0);
  expect(
    world.participants.map(({ id, followModel, standIn }) => [id, followModel, standIn]),
  ).toEqual([
    ["ana-demo", true, true],
    ["ana-tiny", true, false],
  ]);
  expect(left[0]).toBe("ana-demo");
  expect(left).toContain("ana-tiny");
  expect(world.stderr.text).toContain(
    "sharing models/tiny.gguf from llama.cpp as ana-tiny; the demo was removed\n",
  );
});

test("up waits for a server that is loading its model, and prints a line", async () => {
  const world = await up({ fetch: startingServer(3, 503) }, hubWith([]));
  expect(world.participants.map(({ id }) => id)).toEqual(["ana-tiny"]);
  expect(world.stderr.text).toContain("llama.cpp at http://127.0.0.1:8080 is loading its model");
});

test("a server that requires credentials is reported, and the demo is shared", async () => {
  const world = await up({ fetch: startingServer(Infinity, 401) }, hubWith([]));
  expect(world.participants[0]).toMatchObject({ id: "ana-demo" });
  expect(world.stderr.text).toContain(
    '! llama.cpp at http://127.0.0.1:8080 requires credentials (401); pass them from a variable: --endpoint http://127.0.0.1:8080 --header-env "Authorization=VARIABLE"\n',
  );
});

test("whisper.cpp is reported, and shared once its model is named", async () => {
  const headers = { server: "whisper.cpp" };
  const fetch: CliContext["fetch"] = async (url) => {
    if (!url.startsWith("http://127.0.0.1:8080/")) throw new TypeError("fetch failed");
    return new Response("File Not Found (/v1/models)", { status: 404, headers });
  };
  const nameless = await up({ fetch }, hubWith([]));
  expect(nameless.participants[0]).toMatchObject({ id: "ana-demo" });
  expect(nameless.stderr.text).toContain(
    "! whisper.cpp at http://127.0.0.1:8080 is for transcription, and lists no models; to share it, name its model: --model whisper\n",
  );
  const named = await up({ fetch }, hubWith([]), "--model", "whisper");
  expect(named.participants).toMatchObject([
    { model: "whisper", endpoint: "http://127.0.0.1:8080" },
  ]);
});

test("up takes credentials for the model server, and keeps them from the hub", async () => {
  const fetch: CliContext["fetch"] = async (url, init) => {
    const isKnown = new Headers(init.headers).get("authorization") === "Bearer k";
    if (!url.startsWith("http://127.0.0.1:9000/") || !isKnown) throw new TypeError("fetch failed");
    return Response.json({ data: [{ id: "big" }] });
  };
  const args = ["--endpoint", "http://127.0.0.1:9000", "--header-env", "Authorization=KEY"];
  const world = await up({ fetch, env: { KEY: "Bearer k" } }, hubWith([]), ...args);
  expect(world.participants[0]).toMatchObject({
    model: "big",
    headers: { Authorization: "Bearer k" },
  });
  expect(world.participants[0]!.authHeaders).toBeUndefined();
});

test("a named model that is nowhere is a failure, not a demo", async () => {
  const world = await up({}, hubWith([]), "--model", "llama3");
  expect(world.code).toBe(1);
  expect(world.hubs).toEqual([]);
});

test("each finished request is one line with participant, model and speed", async () => {
  const world = await up(onTerminal(), hubWith([aComplete, aFailure]));
  expect(world.hubs[0]?.logFormat).toBe("silent");
  expect(world.stdout.text).toMatch(
    /ana-llama3 +llama3 +- +120 ms +33\.3 {2}ok 2\.4 s, 80 tokens\n/,
  );
  expect(world.stdout.text).toContain("model_not_found: No participant serves gpt-9");
});

test.each<[string[], string]>([
  [[], "text"],
  [["--log-format", "json"], "json"],
  [["--json"], "silent"],
  [["--quiet"], "silent"],
])(
  "off a terminal, with %j, the hub's log is %s and takes the place of these lines",
  async (args, logFormat) => {
    const world = await up({ fetch: ollama }, hubWith([aComplete]), ...args);
    expect(world.hubs[0]).toMatchObject({ logFormat });
    expect(world.stdout.text).not.toContain("ok 2.4 s");
  },
);

test("a request that finishes while the hub stops still has its line", async () => {
  const world = makeWorld(onTerminal(), hubWith([]).client);
  const { createHub } = world.context;
  world.context.createHub = async (options) => {
    const hub = await createHub(options);
    return {
      ...hub,
      close: () => {
        world.tell(aComplete);
        return hub.close();
      },
    };
  };
  expect(await watched(world, [aFailure])).toBe(0);
  expect(world.stdout.text).toMatch(/model_not_found: [^]*ok 2\.4 s, 80 tokens\n$/);
});

test("--closed keeps the first key of the room, and the hub's operator creates it", async () => {
  const key = {
    id: "1",
    name: "host",
    may: ["use" as const],
    createdAt: 0,
    value: `rhk_${"k".repeat(43)}`,
  };
  const created: unknown[] = [];
  const client = hubWith([], {
    createRoom: async ({ name }, options) => {
      created.push(options);
      return { room: aRoom({ name, closed: true }), hostId: "h", key };
    },
  });
  const operatorSecret = async () => "s3cret";
  const args = ["--closed", "--create", "host"];
  const world = await up({ fetch: ollama, operatorSecret }, client, ...args);
  expect(world.code).toBe(0);
  expect(world.hubs[0]).toMatchObject({ closed: true, create: "host" });
  expect(created).toEqual([{ operatorSecret: "s3cret" }]);
  expect(world.participants[0]!.key).toBe(key.value);
  expect(world.stdout.text + world.stderr.text).not.toContain(key.value);
  expect(world.stderr.text).not.toContain("is open");
});

test("--closed says so when the room of that name is open", async () => {
  const client = hubWith([], { listRooms: async () => [aRoom({ name: "lab" })] });
  const world = await up({ fetch: ollama }, client, "--room", "lab", "--closed");
  expect(world.stderr.text).toContain("! Room ABC234 is open");
  expect(world.stderr.text).toContain("→ roomhub room close ABC234");
});

test("the room of that name is used again", async () => {
  const created: string[] = [];
  const client = hubWith([], {
    listRooms: async () => [aRoom({ name: "other" }), aRoom({ name: "lab", code: "XYZ789" })],
    createRoom: async ({ name }) => {
      created.push(name);
      return { room: aRoom(), hostId: "h" };
    },
  });
  const world = await up({ fetch: ollama }, client, "--room", "lab");
  expect(world.participants[0]!.room).toBe("XYZ789");
  expect(created).toEqual([]);
});

test.each([
  [true, [], 4, "has a join password"],
  [false, ["--password", "x"], 1, "has no join password"],
])(
  "a known room (password: %s) with %j ends with %i",
  async (passwordProtected, args, code, said) => {
    const client = hubWith([], { listRooms: async () => [aRoom({ passwordProtected })] });
    const world = await up({ fetch: ollama }, client, "--room", "lab", ...args);
    expect(world.code).toBe(code);
    expect(world.stderr.text).toContain(said);
    expect(world.closedHubs).toBe(1);
  },
);

test("what was started is stopped when a later step fails", async () => {
  const createParticipant = () => Promise.reject(new Error("no agent today"));
  const world = await up({ fetch: ollama, createParticipant }, hubWith([]));
  expect(world.code).toBe(1);
  expect(world.closedHubs).toBe(1);
});

test("--json prints where everything is, then the events", async () => {
  const world = await up({ fetch: ollama }, hubWith([aComplete]), "--json");
  const [ready, event] = world.stdout.text.trimEnd().split("\n");
  expect(JSON.parse(ready!)).toEqual({
    hubUrl: "http://127.0.0.1:5050",
    sharedUrl: null,
    room: "ABC234",
    baseUrl: "http://127.0.0.1:5050/rooms/ABC234/v1",
    participantId: "ana-llama3.2",
    model: "llama3.2",
    endpoint: "http://127.0.0.1:11434",
    isDemo: false,
    monitorUrl: "http://127.0.0.1:5050/rooms/ABC234/watch",
  });
  expect(JSON.parse(event!)).toEqual(aComplete);
});

test("up fails when requests were cut as it stopped", async () => {
  const world = makeWorld({ fetch: ollama }, hubWith([]).client);
  world.cut = 2;
  expect(await watched(world, [])).toBe(1);
  expect(world.stderr.text).toContain("error: 2 requests were interrupted by the shutdown\n");
  expect(world.closedParticipants).toBe(1);
});

test("up takes limits and the config file, and settles all of it before it starts anything", async () => {
  const readFile = async () => '{"limits":{"rooms":3}}';
  const fine = await up({ fetch: ollama, readFile }, hubWith([]), "--limit", "drainMs=1min");
  expect(fine.hubs[0]).toMatchObject({ limits: { rooms: 3, drainMs: 60_000 } });
  const fetch = () => Promise.reject(new Error("nothing may be asked yet"));
  const wrong = await up({ fetch, readFile }, hubWith([]), "--limit", "room=1");
  expect([wrong.code, wrong.hubs.length]).toEqual([2, 0]);
});

test("the page that watches the room is the hub's own", async () => {
  const world = await up({ fetch: ollama }, hubWith([]), "--lan");
  expect(world.monitors).toEqual([]);
  expect(world.stdout.text).toContain("Watch     http://192.168.1.5:5050/rooms/ABC234/watch\n");
});

const bare = ["--no-handout"];

test("beside a hub that hands out nothing, up serves the page that watches the room, and closes it", async () => {
  const world = await up({ fetch: ollama }, hubWith([]), ...bare);
  const room = { hubUrl: "http://127.0.0.1:5050", code: "ABC234" };
  expect(world.monitors).toEqual([{ port: undefined, room }]);
  expect(world.stdout.text).toContain("Watch     http://127.0.0.1:5051");
  expect(world.closedMonitors).toBe(1);
});

test("up --no-monitor serves no page, and names none", async () => {
  for (const args of [[], bare]) {
    const world = await up({ fetch: ollama }, hubWith([]), "--no-monitor", ...args);
    expect(world.monitors).toEqual([]);
    expect(world.stdout.text).not.toContain("Watch");
  }
});

test("up works without the page when it cannot be served", async () => {
  const serveMonitor = async () => {
    throw new Error("listen EMFILE");
  };
  const world = await up({ fetch: ollama, serveMonitor }, hubWith([]), ...bare);
  expect(world.code).toBe(0);
  expect(world.stdout.text).not.toContain("Watch");
  expect(world.stderr.text).toContain(
    "! The page that watches the room is not served: listen EMFILE",
  );
});

test("a hub that others reach knows its first address, for lines on its pages", async () => {
  const lan = await up({ fetch: ollama }, hubWith([]), "--lan");
  expect(lan.hubs[0]?.sharedUrl?.(6060)).toBe("http://192.168.1.5:6060");
  const alone = await up({ fetch: ollama }, hubWith([]));
  expect(alone.hubs[0]?.sharedUrl?.(6060)).toBeUndefined();
});
