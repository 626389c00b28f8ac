import { type Load, systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import {
  type Check,
  type CheckResult,
  type Examination,
  type Finding,
  type RequestStart,
  runChecks,
} from "./check.ts";
import { CHECKS } from "./checks.ts";
import type { Machine, TlsFacts } from "./machine.ts";
import { aClient, healthyMachine, answering, trustedTls } from "./doctor.fixture.ts";
import { requestCheck } from "./request-check.ts";
import { ollamaWith, refusing } from "../snapshots/scenery.fixture.ts";
import { aParticipant, aRoom, makeWorld } from "../test-context.fixture.ts";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";

interface Case {
  hubUrl?: string;
  endpoint?: string;
  machine?: Partial<Machine>;
  client?: Partial<Client>;
  context?: Partial<CliContext>;
  exam?: Partial<Examination>;
}

function examination(one: Case): Examination {
  const context = makeWorld(
    { world: { ...systemWorld, wallMs: () => 0 }, fetch: answering, ...one.context },
    aClient(one.client),
  ).context;
  return {
    context,
    machine: { ...healthyMachine, ...one.machine },
    hubUrl: one.hubUrl ?? "http://hub.example:5050",
    roomCode: "ABC234",
    model: "*",
    endpoint: one.endpoint,
    headers: {},
    mayRequest: true,
    signal: new AbortController().signal,
    isPortOpen: true,
    health: { status: "ok", version: "1.2.3", uptimeSeconds: 1, timestamp: "" },
    clockSkewMs: 0,
    room: undefined,
    participants: undefined,
    route: undefined,
    events: undefined,
    ...one.exam,
  };
}

async function look(name: string, one: Case): Promise<CheckResult> {
  const check = CHECKS.find((candidate) => candidate.name === name);
  if (check === undefined) throw new Error(`no check ${name}`);
  return run(check, one);
}

async function run(check: Check, one: Case): Promise<CheckResult> {
  const options = { isQuiet: true, onResult: () => {} };
  const [result] = await runChecks(examination(one), [check], options);
  if (result === undefined) throw new Error("no result");
  return result;
}

type Row = [name: string, one: Case, verdict: Finding["verdict"], told: string];

function rows(check: string, table: Row[]): void {
  test.each(table)("%s", async (_name, one, verdict, told) => {
    const result = await look(check, one);
    expect(result.verdict).toBe(verdict);
    expect(`${result.found} → ${result.fix ?? ""}`).toContain(told);
  });
}

describe("the program", () => {
  rows("program", [
    [
      "a Node that is old",
      { machine: { nodeVersion: "22.20.9" } },
      "failed",
      "requires Node 22.21",
    ],
    ["a Node that just does", { machine: { nodeVersion: "22.21.0" } }, "ok", "Node 22.21.0"],
  ]);
});

describe("the proxy", () => {
  const env = { HTTP_PROXY: "http://me:secret@proxy:3128" };
  const proxyFor = async () => env.HTTP_PROXY;
  const lan = "http://192.168.1.5:5050";
  rows("proxy", [
    ["one that does not apply", { context: { env } }, "ok", "not used for the hub"],
    [
      "one that applies",
      { context: { env }, machine: { proxyFor } },
      "ok",
      "join uses the proxy proxy:3128",
    ],
    [
      "one before a network of one's own",
      { context: { env }, machine: { proxyFor }, hubUrl: lan },
      "failed",
      "export NO_PROXY=192.168.1.5",
    ],
    [
      "one that is no URL",
      { context: { env }, machine: { proxyFor: async () => "http://" } },
      "failed",
      "unset HTTP_PROXY",
    ],
  ]);

  test("its password is not shown", async () => {
    const { found } = await look("proxy", { context: { env }, machine: { proxyFor } });
    expect(found).not.toContain("secret");
  });
});

describe("the port", () => {
  const failing = (code: string): Partial<Machine> => ({
    reach: () => Promise.reject(Object.assign(new Error(code), { code })),
  });
  rows("port", [
    [
      "a free one of this machine",
      { machine: failing("ECONNREFUSED"), hubUrl: "http://[::1]:5050" },
      "failed",
      "no hub is running on this machine → roomhub up",
    ],
    [
      "one that another machine refuses",
      { machine: failing("ECONNREFUSED") },
      "failed",
      "start the hub with --lan",
    ],
    [
      "a machine that is away",
      { machine: failing("EHOSTUNREACH") },
      "failed",
      "cannot be reached (EHOSTUNREACH)",
    ],
    [
      "a name that leads nowhere",
      { machine: failing("ENOTFOUND") },
      "failed",
      "does not resolve (ENOTFOUND)",
    ],
    [
      "a proxy in the way",
      {
        machine: { proxyFor: async () => "http://p" },
        context: { env: { NODE_USE_ENV_PROXY: "1" } },
      },
      "skipped",
      "connections go through a proxy",
    ],
  ]);
});

describe("the hub", () => {
  const health = (version: string, status: "ok" | "degraded" | "draining" = "ok") => ({
    client: { health: async () => ({ status, version, uptimeSeconds: 1, timestamp: "" }) },
  });
  const noHub: Case = {
    hubUrl: "http://127.0.0.1:11434",
    client: { health: refusing(404, {}) },
  };
  const entry = { hubId: "0".repeat(16), bootId: "0".repeat(8), url: "http://h:5050" };
  const inOrder = { version: "1.2.3", participants: 1, isDraining: false };
  const ofCluster = (link: "open" | "down"): Case => ({
    client: {
      ...health("1.2.3").client,
      listHubs: async () => [
        { ...entry, ...inOrder, link: "self" },
        { ...entry, ...inOrder, link },
      ],
    },
  });
  rows("hub", [
    ["of a later patch", health("1.2.9"), "ok", "roomhub 1.2.9"],
    ["of another major version", health("2.0.0"), "failed", "→ use roomhub 2.0.0 here too"],
    ["that is stopping", health("1.2.3", "draining"), "failed", "accepts no requests"],
    [
      "that has lost its cluster",
      health("1.2.3", "degraded"),
      "failed",
      "rooms in use go on, new ones are refused",
    ],
    ["of a cluster", ofCluster("open"), "ok", "up 1.0 s, one of 2 hubs →"],
    [
      "of a cluster that it is not linked to",
      ofCluster("down"),
      "failed",
      "it cannot reach the rooms of 1 hub → roomhub hubs --hub http://hub.example:5050",
    ],
    [
      "whose version is nonsense for a shell",
      health("2;rm -rf"),
      "failed",
      "→ use roomhub of the hub's version here too",
    ],
    [
      "that is none, here",
      noHub,
      "failed",
      "is not a hub (it responds with 404) → roomhub up --port 11435",
    ],
    [
      "that is a model server",
      { ...noHub, context: { fetch: ollamaWith("llama3.2", "qwen3") } },
      "failed",
      "is a model server, not a hub: it lists llama3.2, qwen3 → share its models: roomhub join --endpoint http://127.0.0.1:11434; or host a room with them: roomhub up --endpoint http://127.0.0.1:11434",
    ],
    [
      "that is a model server which requires a key",
      {
        ...noHub,
        context: {
          fetch: async () => Response.json({ error: { message: "no" } }, { status: 401 }),
        },
      },
      "failed",
      "is a model server, not a hub: it responds with 401",
    ],
    ["whose port is closed", { exam: { isPortOpen: false } }, "skipped", "needs the port"],
  ]);

  test("of a cluster shows what a failure of NATS may take back", async () => {
    const warning = "NATS has one copy.";
    const listHubs = async () => [{ ...entry, ...inOrder, link: "self" as const, warning }];
    const { verdict, details } = await look("hub", {
      client: { ...health("1.2.3").client, listHubs },
    });
    expect([verdict, details]).toEqual(["ok", [warning]]);
  });

  test("before 1.0 another minor version is another", async () => {
    const one = { ...health("0.2.0"), context: { version: "0.1.0" } };
    expect((await look("hub", one)).verdict).toBe("failed");
  });
});

describe("the clock", () => {
  rows("clock", [
    ["a minute apart", { exam: { clockSkewMs: -60_000 } }, "ok", "1 min 00 s"],
    ["more than a minute behind", { exam: { clockSkewMs: 60_001 } }, "failed", "behind the hub's"],
    [
      "more than a minute ahead",
      { exam: { clockSkewMs: -60_001 } },
      "failed",
      "ahead of the hub's",
    ],
    ["not told", { exam: { clockSkewMs: undefined } }, "skipped", "needs the hub"],
  ]);
});

describe("the tunnel", () => {
  const answered = (status: number, body: string): Case => ({
    machine: { handshake: async () => ({ status, body }) },
  });
  rows("tunnel", [
    [
      "refused by the hub",
      answered(403, '{"error":{"code":"participant_token_required"}}'),
      "ok",
      "reaches the hub",
    ],
    [
      "passed on as an ordinary request",
      answered(426, '{"error":{"code":"upgrade_required"}}'),
      "failed",
      "drops the Upgrade header",
    ],
    [
      "answered by a proxy",
      answered(502, "<html>"),
      "failed",
      "got a 502 response that is not from the hub",
    ],
    [
      "answered by another's JSON",
      answered(404, '{"error":{"code":"nope"}}'),
      "failed",
      "not from the hub",
    ],
    ["opened by somebody else", answered(101, ""), "failed", "got a 101 response"],
    [
      "cut off",
      { machine: { handshake: () => Promise.reject(new Error("reset")) } },
      "failed",
      "reset",
    ],
  ]);
});

describe("the provider", () => {
  const fetch = async (url: string) => {
    if (!url.startsWith("http://127.0.0.1:11434/")) throw new TypeError("fetch failed");
    return Response.json({ data: [{ id: "llama3" }] });
  };
  rows("provider", [
    [
      "one of the usual ones",
      { context: { fetch } },
      "ok",
      "1 model server responds on this machine",
    ],
    [
      "one that is named and silent",
      { endpoint: "http://127.0.0.1:9" },
      "failed",
      "no model server responds at http://127.0.0.1:9",
    ],
    [
      "one that is named and answers",
      { endpoint: "http://127.0.0.1:11434", context: { fetch } },
      "ok",
      "1 model server responds",
    ],
    [
      "one whose certificate is not trusted",
      {
        endpoint: "https://llm.lan",
        context: {
          fetch: async () => {
            const cause = Object.assign(new Error(), { code: "SELF_SIGNED_CERT_IN_CHAIN" });
            throw new TypeError("fetch failed", { cause });
          },
        },
      },
      "failed",
      "the model server at https://llm.lan has a certificate that is not trusted here (SELF_SIGNED_CERT_IN_CHAIN) → set NODE_USE_SYSTEM_CA=1",
    ],
    ["none", {}, "skipped", "none is needed to use a room"],
  ]);

  test("the fix for a silent server is a curl line for its model list", async () => {
    const { fix } = await look("provider", { endpoint: "http://127.0.0.1:9/v1/" });
    expect(fix).toContain("curl http://127.0.0.1:9/v1/models");
  });

  describe("that requires credentials", () => {
    const endpoint = "https://api.example.com/v1";
    const guarded = async (_url: string, { headers }: RequestInit) =>
      new Headers(headers).get("authorization") === "Bearer right"
        ? Response.json({ data: [{ id: "big-1" }] })
        : Response.json({ error: { message: "no" } }, { status: 401 });
    const asked = (headers: Record<string, string>) =>
      look("provider", { endpoint, context: { fetch: guarded }, exam: { headers } });

    test("is ok with the right credentials", async () => {
      const { verdict, details } = await asked({ authorization: "Bearer right" });
      expect([verdict, details]).toEqual(["ok", [`model server at ${endpoint}: big-1`]]);
    });

    test("fails without credentials, and the fix is the option", async () => {
      const { verdict, found, fix } = await asked({});
      expect([verdict, found]).toEqual([
        "failed",
        `the model server at ${endpoint} requires credentials (401)`,
      ]);
      expect(fix).toContain("--header-env");
    });

    test("names the header that is wrong, and never its value", async () => {
      const result = await asked({ Authorization: "Bearer wr0ng" });
      expect(result.verdict).toBe("failed");
      expect(result.found).toContain("rejected the credentials (401; headers: Authorization)");
      expect(JSON.stringify(result)).not.toContain("wr0ng");
    });
  });

  test("one that cannot be an endpoint is a finding", async () => {
    const { verdict, found } = await look("provider", { endpoint: "ftp://x" });
    expect([verdict, found]).toEqual(["failed", expect.stringContaining("ftp://x")]);
  });

  test("its slots are shown when it is a llama-server", async () => {
    const answers: Record<string, object> = {
      "/v1/models": { data: [{ id: "tiny", owned_by: "llamacpp" }] },
      "/props": { total_slots: 2 },
    };
    const llama = async (url: string) => Response.json(answers[new URL(url).pathname]);
    const endpoint = "http://127.0.0.1:8080";
    const { details } = await look("provider", { endpoint, context: { fetch: llama } });
    expect(details).toEqual([`model server at ${endpoint}: tiny; 2 slots`]);
  });

  test("its models are listed", async () => {
    const { details } = await look("provider", { context: { fetch } });
    expect(details).toEqual(["Ollama at http://127.0.0.1:11434: llama3"]);
  });
});

describe("a request without a token in time", () => {
  const silent = {
    context: {
      fetch: () => new Promise<Response>(() => {}),
      world: { ...systemWorld, wallMs: () => 65_000 },
    },
  };
  const start: RequestStart = {
    ...{ type: "llm.request", roomCode: "ABC234", requestId: "req_1", participantId: "ana-llama3" },
    ...{ model: "llama3", protocol: "chatCompletions", selector: "*", attempt: 1 },
    client: { kind: "none", id: "" },
    timestamp: new Date(5_000).toISOString(),
  };
  const late = (
    running: RequestStart | undefined,
    load: Load = { active: 1, queued: 0, limit: 2, limitFrom: "declared" },
  ) =>
    run(
      { ...requestCheck, timeoutMs: 1 },
      {
        ...silent,
        client: { listParticipants: async () => [aParticipant({ load })] },
        exam: {
          room: aRoom(),
          events: { endOf: async () => undefined, runningFor: () => running, close() {} },
        },
      },
    );

  test("that a participant accepted is a slow model, not a network problem", async () => {
    const { verdict, found, details, fix } = await late(start);
    expect(verdict).toBe("skipped");
    expect(found).toBe(
      "ana-llama3 accepted the request 1 min 00 s ago, and its model server has sent no token yet",
    );
    expect(details).toEqual(["ana-llama3: 1/2 running, 0 waiting"]);
    expect(fix).toContain("the network works");
  });

  test("shows the slots of the model server, and what else keeps them busy", async () => {
    const load = { active: 1, queued: 0, limit: 2, limitFrom: "engine" as const, elsewhere: 1 };
    const { details } = await late(start, load);
    expect(details).toEqual([
      "ana-llama3: 1/2 slots of its model server running, 1 busy with something else, 0 waiting",
    ]);
  });

  test("that waits in the queue is a busy room", async () => {
    const { verdict, found } = await late(undefined, {
      active: 2,
      queued: 1,
      limit: 2,
      limitFrom: "declared" as const,
    });
    expect([verdict, found]).toEqual([
      "skipped",
      "no participant had capacity for the request within 1 min 00 s",
    ]);
  });

  test("that nothing is known of is a problem of the network", async () => {
    const { verdict, fix } = await late(undefined);
    expect([verdict, fix]).toEqual(["failed", expect.stringContaining("check the network")]);
  });
});

test("what is known of a step that takes too long is read before its request is aborted", async () => {
  const seen: boolean[] = [];
  let signalOfLook: AbortSignal | undefined;
  const check: Check = {
    name: "slow",
    waitsFor: "something",
    timeoutMs: 1,
    run(_exam, signal) {
      signalOfLook = signal;
      return new Promise(() => {});
    },
    async late() {
      await Promise.resolve();
      seen.push(signalOfLook?.aborted ?? true);
      return undefined;
    },
  };
  await run(check, {});
  expect([...seen, signalOfLook?.aborted]).toEqual([false, true]);
});

test("a step that takes too long is a finding", async () => {
  const check: Check = {
    name: "slow",
    waitsFor: "something",
    timeoutMs: 1,
    run: () => new Promise(() => {}),
  };
  const { verdict, found } = await run(check, {});
  expect([verdict, found]).toEqual(["failed", "timed out after 1 ms waiting for something"]);
});

test("a bug in a step is no finding", async () => {
  const bug = new Error("a bug");
  const look = () => {
    throw bug;
  };
  await expect(run({ name: "x", waitsFor: "x", timeoutMs: 1_000, run: look }, {})).rejects.toBe(
    bug,
  );
});

describe("encryption", () => {
  const pin = `sha256-${"p".repeat(43)}`;
  const problem = "DEPTH_ZERO_SELF_SIGNED_CERT";
  const own: TlsFacts = { ...trustedTls, pin, issuer: "roomhub", isSelfSigned: true, problem };
  const encryption = (hubUrl: string, facts: TlsFacts | undefined, known?: string) => {
    const saved = { hubUrl: new URL(hubUrl).host, room: "", id: "pin", token: known ?? "" };
    const tokens = {
      find: async () => (known === undefined ? [] : [saved]),
      ...{ save: async () => undefined, forget: async () => undefined, tokenOf: async () => known },
    };
    const context = { savedTokens: async () => tokens };
    return look("encryption", { hubUrl, machine: { tls: async () => facts }, context });
  };
  const textOf = ({ found, fix, details }: CheckResult) => [found, fix, ...details].join(" → ");

  test.each([
    ["http://127.0.0.1:5050", undefined, "not needed: the hub is on this machine"],
    ["https://hub.example", trustedTls, "TLSv1.3, certificate of Example CA"],
  ])("%s is as it should be", async (url, facts, found) => {
    expect(await encryption(url, facts)).toMatchObject({ verdict: "ok", found });
  });

  test.each(["http", "https"])(
    "with the pinned key nothing else matters, by %s",
    async (scheme) => {
      const finding = await encryption(`${scheme}://10.0.0.7:5050`, own, pin);
      expect(finding).toMatchObject({ verdict: "ok", found: "TLSv1.3 with the pinned key" });
    },
  );

  test.each([
    [undefined, "the host can encrypt it: roomhub up --lan, or roomhub serve --tls"],
    [own, "use the invite with #pin=sha256-… that the host's terminal shows"],
    [trustedTls, "use https://hub.example:5050"],
  ])("plain HTTP is neither right nor wrong, and the way to TLS is shown", async (facts, fix) => {
    const finding = await encryption("http://hub.example:5050", facts);
    expect(finding).toMatchObject({ verdict: "skipped", fix });
    expect(finding.found.endsWith("although the hub has TLS")).toBe(facts !== undefined);
  });

  test("another key than the pin shows both, and what it can mean", async () => {
    const finding = await encryption("https://10.0.0.7:5050", { ...own, pin: "sha256-x" }, pin);
    expect(finding).toMatchObject({ verdict: "failed", exitCode: 5, details: [] });
    expect(textOf(finding)).toContain(`expected ${pin}, found sha256-x`);
    expect(finding.fix).toContain("another machine stands between it and you");
    const opened = await encryption("https://10.0.0.7:5050", trustedTls, pin);
    expect(opened.details[0]).toContain("of Example CA, not the hub's own: a proxy on the way");
  });

  test("no TLS, where a pin requires it, is a failure", async () => {
    const finding = await encryption("http://10.0.0.7:5050", undefined, pin);
    expect(finding).toMatchObject({ verdict: "failed", exitCode: 5 });
    expect(finding.found).toContain("does not use TLS, which the pin of its invite requires");
  });

  test.each([
    [
      "CERT_HAS_EXPIRED",
      "has expired",
      "valid until 1970-03-01 → the clock of this machine says 1970-01-01",
    ],
    ["CERT_NOT_YET_VALID", "not valid yet → set the clock", "the clock of this machine says"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "must send its full chain", "of Example CA"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "another name", "of Example CA"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "NODE_EXTRA_CA_CERTS=FILE", "of Example CA"],
  ])(
    "a certificate with %s fails with its next step, and the hub is not asked",
    async (problem, ...parts) => {
      const finding = await encryption("https://hub.example", { ...trustedTls, problem });
      expect(finding).toMatchObject({ verdict: "failed", exitCode: 5 });
      for (const part of parts) expect(textOf(finding)).toContain(part);
    },
  );

  test.each([
    ["1969-10-17", "1970-01-15", "14 days"],
    ["1969-12-31T14:00Z", "1970-01-01T02:00Z", undefined],
    ["1969-12-31T14:00Z", "1970-01-01T01:59Z", "1 h 59 min"],
  ])(
    "a certificate from %s to %s fails when less than a sixth of its time is left",
    async (from, to, left) => {
      const [validFrom, validTo] = [new Date(from), new Date(to)];
      const finding = await encryption("https://hub.example", {
        ...trustedTls,
        validFrom,
        validTo,
      });
      expect(finding).toMatchObject(
        left === undefined
          ? { verdict: "ok" }
          : { verdict: "failed", found: `the hub's certificate ends in ${left}`, exitCode: 1 },
      );
    },
  );
});
