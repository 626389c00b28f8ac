import { HubUnreachableError, RoomhubError } from "@roomhub/client";
import type { Readiness, RouteCandidate, RouteExplanation } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import {
  aClient,
  aHealth,
  answering,
  answeringWithin,
  aRoute,
  runDoctor,
} from "../doctor/doctor.fixture.ts";
import { aParticipant, aRoom, capture } from "../test-context.fixture.ts";

const url = "http://hub:5050/rooms/ABC234";

function refusal(status: number, code: string, hint?: string): RoomhubError {
  const nothing = { requestId: undefined, retryAfterMs: undefined, participants: undefined };
  return new RoomhubError(`refused with ${code}`, { status, code, param: "", hint, ...nothing });
}

const offline = { status: 503, code: "participant_offline", message: "No.", hint: "wait" };

/** A room whose only participant cannot serve requests now. */
function unready(
  readiness: Readiness,
  reason: string,
  route: Partial<RouteExplanation>,
): Partial<Client> {
  const connection = { ...aParticipant().connection, readiness };
  const verdict = readiness === "loading" ? "loading" : "passed-over";
  const participants = aRoute.participants.map((one): RouteCandidate => ({
    ...one,
    verdict,
    reason,
    connection,
  }));
  return {
    listParticipants: async () => [aParticipant({ connection })],
    explainRoute: async () => ({ ...aRoute, participants, ...route }),
  };
}

const healthy = [
  "✓ program             0 ms  Node 24.11.0, roomhub 1.2.3",
  "✓ proxy               0 ms  no proxy is set",
  "✓ port                0 ms  port 5050 is open",
  "– encryption                plain HTTP: prompts, responses and keys can be read on the network",
  "  → the host can encrypt it: roomhub up --lan, or roomhub serve --tls",
  "✓ hub                 0 ms  roomhub 1.2.9 at http://hub:5050, up 1 min 01 s",
  "✓ clock               0 ms  within 0 ms of the hub's",
  "✓ room                0 ms  ABC234 (lab), 1 participant",
  "✓ participants        0 ms  1 of 1 can serve a chat request now",
  "    ana-llama3 (llama3): online, tunnel, 1/4 running; chat supported, responses unknown",
  "– provider                  no model server on this machine; none is needed to use a room",
  "✓ model               0 ms  * goes to ana-llama3 (llama3)",
  "✓ tunnel              0 ms  a WebSocket handshake reaches the hub",
  "✓ stream              0 ms  not buffered, first bytes after 0 ms",
  "✓ request             0 ms  ana-llama3 responded in 0 ms",
  "    first byte after 0 ms, first token after 0 ms: provider 380 ms, queue 20 ms, hub and network 0 ms",
  "    complete after 0 ms: provider 480 ms, queue 20 ms, hub and network 0 ms",
  "",
];

describe("when all checks pass", () => {
  test("each step is a line with its mark, its time and what was found, and the command succeeds", async () => {
    const { world, error } = await runDoctor([url]);
    expect(error).toBeUndefined();
    expect(world.stdout.text.split("\n")).toEqual(healthy);
    expect(world.stderr.text).toBe("");
  });

  test("a terminal gets the same lines in colour", async () => {
    const { world } = await runDoctor([url], { context: { stdout: capture(100) } });
    const { text } = world.stdout;
    expect(text).toContain("\u001b[32m✓\u001b[39m hub           \u001b[2m      0 ms\u001b[22m  ");
    expect(text).toContain("\u001b[2m–\u001b[22m provider");
    // oxlint-disable-next-line no-control-regex -- what is looked for is what a terminal reads as colour
    expect(text.replaceAll(/\u001b\[\d+m/g, "").split("\n")).toEqual(healthy);
  });

  test("--json prints one object and nothing else", async () => {
    const { world, error } = await runDoctor([url, "--json"]);
    expect(error).toBeUndefined();
    const report = JSON.parse(world.stdout.text) as { checks: unknown[] };
    expect(report).toMatchObject({ ok: true, hubUrl: "http://hub:5050", room: "ABC234" });
    expect(report.checks).toHaveLength(13);
    expect(report.checks[4]).toEqual({
      name: "hub",
      verdict: "ok",
      ms: 0,
      found: "roomhub 1.2.9 at http://hub:5050, up 1 min 01 s",
    });
    expect(world.stderr.text).toBe("");
  });

  test("--no-request sends no request", async () => {
    const asked: string[] = [];
    const context = {
      fetch: async (address: string) => {
        asked.push(address);
        return new Response(": hello\n\n");
      },
    };
    const client = aClient({ health: async () => ({ ...aHealth, handout: true }) });
    const { world, error } = await runDoctor([url, "--no-request"], { context, client });
    expect(error).toBeUndefined();
    expect(world.stdout.text).toContain(
      "another machine joins with: npx -y http://hub:5050/roomhub.tgz join http://hub:5050/rooms/ABC234\n",
    );
    expect(world.stdout.text).toContain("– request                   disabled by --no-request\n");
    expect(asked.filter((address) => !address.includes("127.0.0.1"))).toEqual([
      "http://hub:5050/v1/rooms/ABC234/events",
    ]);
  });
});

test.each([
  [[], "http://127.0.0.1:5050"],
  [["--hub", "http://hub:6060"], "http://hub:6060"],
  [["hub.example"], "http://hub.example:5050"],
  [["localhost"], "http://localhost:5050"],
  [["https://hub.example/v1"], "https://hub.example"],
  [["abc234"], "http://127.0.0.1:5050"],
  [["abc234", "--hub", "http://hub:6060"], "http://hub:6060"],
])("%j is examined at %s", async (args, hubUrl) => {
  const { world } = await runDoctor([...args, "--json"]);
  expect(JSON.parse(world.stdout.text)).toMatchObject({ ok: true, hubUrl, room: "ABC234" });
});

test("a code that the hub of this machine does not know is looked for on the network", async () => {
  const elsewhere = "http://192.168.1.9:5050";
  const unknown = () => Promise.reject(refusal(404, "room_not_found"));
  const createClient = (hubUrl: string) => {
    const own = hubUrl === elsewhere ? {} : { getRoom: unknown, listRooms: async () => [] };
    const baseUrl = () => `${hubUrl}/rooms/ABC234/v1`;
    return { hubUrl, baseUrl, ...aClient(own) } as Client;
  };
  const mdns: CliContext["mdns"] = {
    announce: async () => async () => {},
    browse: async (_addresses, onHub) => {
      onHub(elsewhere);
      return async () => {};
    },
  };
  const { world } = await runDoctor(["abc234", "--json"], { context: { createClient, mdns } });
  expect(JSON.parse(world.stdout.text)).toMatchObject({ ok: true, hubUrl: elsewhere });
});

describe("when something is wrong, the steps after it that need it are left out", () => {
  test("a closed port: the fix starts a hub there, and the exit code is 5", async () => {
    const machine = {
      reach: async () => {
        throw Object.assign(new Error("no"), { code: "ECONNREFUSED" });
      },
    };
    const { world, error } = await runDoctor(["http://127.0.0.1:6060"], { machine });
    expect(error).toMatchObject({ message: "1 of 13 checks failed: port", exitCode: 5 });
    expect(world.stdout.text.split("\n").slice(2)).toEqual([
      "✗ port                0 ms  port 6060 is closed: no hub is running on this machine",
      "  → roomhub up --port 6060",
      "– encryption                needs the port",
      "– hub                       needs the port",
      "– clock                     needs the hub",
      "– room                      needs the hub",
      "– participants              needs the room",
      "– provider                  no model server on this machine; none is needed to use a room",
      "– model                     needs the room",
      "– tunnel                    needs the hub",
      "– stream                    needs the room",
      "– request                   needs the room",
      "",
    ]);
  });

  test("an unknown room: those that are there are listed, and the exit code is 3", async () => {
    const getRoom = () => Promise.reject(refusal(404, "room_not_found"));
    const { world, error } = await runDoctor(["http://hub:5050/rooms/ABC243"], {
      client: { getRoom },
    });
    expect(error).toMatchObject({ exitCode: 3 });
    expect(world.stdout.text).toContain(
      [
        "✗ room                0 ms  The hub at http://hub:5050 has no room ABC243; did you mean:",
        "    roomhub join http://hub:5050/rooms/ABC234  # lab, 1 participant",
      ].join("\n"),
    );
  });

  test("a hub with several rooms and none named: the rest is left out and that is no failure", async () => {
    const client = { listRooms: async () => [aRoom(), aRoom({ code: "XYZ789" })] };
    const { world, error } = await runDoctor(["http://hub:5050"], { client });
    expect(error).toBeUndefined();
    expect(world.stdout.text).toContain("→ roomhub doctor http://hub:5050/rooms/ABC234\n");
    expect(world.stdout.text).toContain("✓ tunnel");
  });

  test("an empty room: the fix is the command that joins it", async () => {
    const client = { listParticipants: async () => [] };
    const { world } = await runDoctor([url], { client });
    expect(world.stdout.text).toContain(
      "✗ participants        0 ms  the room has no participants\n  → roomhub join http://hub:5050/rooms/ABC234\n",
    );
  });

  test("a model server that is down: the fix names the server", async () => {
    const [one] = aRoute.participants;
    const reason = "not ready: its model server does not respond";
    const participants =
      one === undefined ? [] : [{ ...one, verdict: "passed-over" as const, reason }];
    const refused = { status: 503, code: "participant_offline", message: "no", hint: "wait" };
    const client = {
      explainRoute: async () => ({ ...aRoute, participants, refusal: refused }),
      listParticipants: async () => [aParticipant()],
    };
    const { world, error } = await runDoctor([url], { client });
    expect(error).toMatchObject({ message: "2 of 13 checks failed: participants, model" });
    expect(world.stdout.text).toContain(`ana-llama3 (llama3): online, ${reason};`);
    expect(world.stdout.text).toContain(
      "→ start the model server of ana-llama3 at http://127.0.0.1:11434",
    );
    expect(world.stdout.text).toContain(
      "– request                   needs a participant that serves",
    );
  });

  test("the hub's own hint can be pasted here: it names the hub, and what runs in a checkout", async () => {
    const hint = "List the participants: roomhub participants ABC234";
    const refused = { status: 503, code: "participant_offline", message: "no", hint };
    const client = {
      explainRoute: async () => ({ ...aRoute, refusal: refused }),
      listParticipants: () => Promise.reject(refusal(503, "hub_draining", "roomhub room list")),
    };
    const { world } = await runDoctor([url], { client, context: { commandName: "npx roomhub" } });
    expect(world.stdout.text).toContain(
      `→ List the participants: npx roomhub participants ${url}\n`,
    );
    expect(world.stdout.text).toContain("→ npx roomhub room list --hub http://hub:5050\n");
  });

  test("a response that a proxy buffers: the fix is the proxy's settings", async () => {
    const fetch = answeringWithin({ ttftMs: 100, durationMs: 2_400 });
    const { world, error } = await runDoctor([url], { context: { fetch } });
    expect(error).toMatchObject({ message: "1 of 13 checks failed: request", exitCode: 1 });
    expect(world.stdout.text.split("\n").slice(-4)).toEqual([
      "✗ request             0 ms  the response from ana-llama3 arrived all at once after 0 ms, although its first token left the hub after 100 ms: a proxy in between buffers responses",
      "    first byte after 0 ms, first token after 0 ms: provider 80 ms, queue 20 ms, hub and network 0 ms",
      expect.stringMatching(/^ {2}→ .*proxy_buffering off.*X-Accel-Buffering/),
      "",
    ]);
  });

  test("all participants at capacity: no request is queued", async () => {
    const asked: string[] = [];
    const context: Partial<CliContext> = {
      fetch: async (address, init) => {
        asked.push(address);
        return answering(address, init);
      },
    };
    const client = { explainRoute: async () => ({ ...aRoute, outcome: "waits" as const }) };
    const { world, error } = await runDoctor([url], { client, context });
    expect(error).toBeUndefined();
    expect(world.stdout.text).toContain(
      "– request                   all matching participants are at capacity\n  → retry in a moment",
    );
    expect(asked.filter((address) => address.endsWith("/chat/completions"))).toEqual([]);
  });

  test("a model server that loads its model: that requests wait for it, and none is made", async () => {
    const asked: string[] = [];
    const context: Partial<CliContext> = {
      fetch: async (address, init) => {
        asked.push(address);
        return answering(address, init);
      },
    };
    const client = unready("loading", "loading its model for 4 s", { outcome: "waits" });
    const { world, error } = await runDoctor([url], { client, context });
    expect(error).toBeUndefined();
    expect(world.stdout.text).toContain(
      [
        "✓ participants        0 ms  0 of 1 can serve a chat request now; 1 more is loading its model",
        "    ana-llama3 (llama3): online, loading its model for 4 s; chat supported, responses unknown",
      ].join("\n"),
    );
    expect(world.stdout.text).toContain("* goes to ana-llama3 (llama3), once it is loaded");
    expect(world.stdout.text).toContain(
      "– request                   the model is still loading\n  → retry once it is loaded",
    );
    expect(asked.filter((address) => address.endsWith("/chat/completions"))).toEqual([]);
  });

  test.each([
    ["needs-credentials", "--header-env Authorization=VARIABLE"],
    [
      "down",
      "start the model server of ana-llama3 at http://127.0.0.1:11434; then: roomhub doctor",
    ],
    ["wrong-model", "join with the model that http://127.0.0.1:11434 serves now: roomhub join"],
  ] as const)("the only model server is %s: the step that helps", async (readiness, fix) => {
    const client = unready(readiness, "it is not ready", { refusal: offline });
    const { world } = await runDoctor([url], { client });
    expect(world.stdout.text).toContain(
      "✗ participants        0 ms  0 of 1 can serve a chat request now",
    );
    const [, step = ""] = world.stdout.text.split("✗ participants")[1]?.split("→ ") ?? [];
    expect(step).toContain(fix);
  });

  test("a request that is refused: the hub's own words and next step", async () => {
    const body = { error: { message: "Its key is wrong.", code: "x", hint: "give it another" } };
    const context = {
      fetch: async (address: string) =>
        address.endsWith("/events")
          ? new Response(": hello\n\n")
          : Response.json(body, { status: 502 }),
    };
    const { world, error } = await runDoctor([url], { context });
    expect(error).toMatchObject({ exitCode: 1 });
    expect(world.stdout.text).toContain("Its key is wrong.\n  → give it another\n");
  });
});

test("a provider that supports only the newer limit field gets that one", async () => {
  const asked: string[] = [];
  const context = {
    fetch: async (address: string, { body }: RequestInit) => {
      if (!address.endsWith("/chat/completions")) return new Response(": hello\n\n");
      if (typeof body === "string") asked.push(body);
      const message = "Unsupported parameter: use 'max_completion_tokens' instead.";
      return asked.length === 1
        ? Response.json({ error: { message } }, { status: 400 })
        : Response.json({ choices: [{ message: { content: "Hi" } }] });
    },
  };
  const { error } = await runDoctor([url], { context });
  expect(error).toBeUndefined();
  expect(asked[0]).toContain('"max_tokens":32');
  expect(asked[1]).not.toContain('"max_tokens"');
});

test("headers are sent to the named model server only", async () => {
  const asked: [url: string, key: string | null][] = [];
  const context: Partial<CliContext> = {
    env: { KEY: "Bearer s3cret" },
    fetch: async (address, init) => {
      asked.push([address, new Headers(init.headers).get("authorization")]);
      return address.includes("api.example.com")
        ? Response.json({ data: [{ id: "big-1" }] })
        : answering(address, init);
    },
  };
  const endpoint = ["--endpoint", "https://api.example.com/v1"];
  const named = ["--header-env", "Authorization=KEY", "--header", "X-Team: blue"];
  const { world, error } = await runDoctor([url, ...endpoint, ...named], { context });
  expect(error).toBeUndefined();
  expect(asked.filter(([, key]) => key !== null)).toEqual([
    ["https://api.example.com/v1/models", "Bearer s3cret"],
  ]);
  expect(world.stdout.text + world.stderr.text).not.toContain("s3cret");
});

test.each([
  [["--header", "X-Team: blue"], "require --endpoint"],
  [
    ["--endpoint", "http://x", "--header", "secret nonsense"],
    '--header must look like "Name: value"',
  ],
  [["--endpoint", "http://x", "--header-env", "Authorization=NO"], "NO is not set"],
])("%j is a usage error that repeats no value", async (args, message) => {
  const { error } = await runDoctor([url, ...args]);
  expect(error).toMatchObject({ name: "UsageError", message: expect.stringContaining(message) });
  expect((error as Error).message).not.toContain("nonsense");
});

test("Ctrl+C stops it where it is", async () => {
  const { error } = await runDoctor([url], {
    machine: { reach: () => new Promise(() => {}) },
    whenStarted: (world) => world.stop(),
  });
  expect(error).toMatchObject({ message: "Stopped", exitCode: 130 });
});

test.each(["Ana's lab", "ftp://hub", "http://hub:5050/rooms/a b"])(
  "%s is no target",
  async (target) => {
    const { error } = await runDoctor([target]);
    expect(error).toMatchObject({ name: "InvalidHubUrlError" });
  },
);

test("text from the network cannot control the terminal", async () => {
  const evil = "\u001b[2J";
  const client = {
    getRoom: async () => aRoom({ name: evil }),
    listParticipants: async () => [aParticipant({ id: evil, model: evil })],
    health: () => Promise.reject(new HubUnreachableError("http://hub", new Error(evil))),
  };
  const { world } = await runDoctor([url], { client });
  expect(world.stdout.text).not.toContain("\u001b");
});

test.each([
  [true, "npx -y http://hub:5050/roomhub-2.0.0.tgz"],
  [false, "use roomhub 2.0.0 here too"],
])(
  "of a hub of another version that hands out its program (%s), the fix is %s",
  async (handout, fix) => {
    const health = async () => ({ ...aHealth, version: "2.0.0", handout });
    const client = aClient({ health });
    const { world } = await runDoctor([url, "--no-request"], { client });
    expect(world.stdout.text).toContain("the two may be incompatible\n");
    expect(world.stdout.text).toContain(`→ ${fix}\n`);
  },
);

test("the line for other machines has the hub's URL for them, and there is none where they cannot come", async () => {
  const here = "http://127.0.0.1:5050/rooms/ABC234";
  const lines = async (shared: string | undefined) => {
    const health = async () => ({ ...aHealth, url: shared, handout: true });
    const { world } = await runDoctor([here, "--no-request"], { client: aClient({ health }) });
    return world.stdout.text;
  };
  expect(await lines("http://192.168.1.5:5050")).toContain(
    "npx -y http://192.168.1.5:5050/roomhub.tgz join http://192.168.1.5:5050/rooms/ABC234\n",
  );
  expect(await lines("http://127.0.0.1:5050")).not.toContain("another machine");
});
