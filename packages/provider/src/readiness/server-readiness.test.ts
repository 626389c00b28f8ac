import type { Readiness } from "@roomhub/protocol";
import { array, assert, constantFrom, nat, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { type ReadinessVerdict, ServerReadiness, type ProbeFinding } from "./server-readiness.ts";

const loadingMs = 900_000;
const readyLookMs = 30_000;
const downLookMs = 5_000;

/** A machine with a clock to set, and what it reported. */
function startMachine() {
  const reported: ReadinessVerdict[] = [];
  let moves = 0;
  let model = "llama3";
  const machine = new ServerReadiness({
    nowMs: 0,
    model: () => model,
    isModelListed: false,
    loadingMs,
    readyLookMs,
    downLookMs,
    onVerdict: (verdict) => reported.push(verdict),
    onLookMoved: () => void (moves += 1),
  });
  return {
    machine,
    reported,
    nowMs: 0,
    get moves() {
      return moves;
    },
    get verdict() {
      return machine.verdict;
    },
    get lookInMs() {
      return machine.lookInMs(this.nowMs);
    },
    do(...events: EventName[]) {
      for (const name of events) perform[name](machine, this.nowMs);
      return this;
    },
    probe(finding: ProbeFinding) {
      machine.probed(finding, this.nowMs);
    },
    pass(ms: number) {
      this.nowMs += ms;
      return this;
    },
    serve(name: string) {
      model = name;
      machine.modelChanged(this.nowMs);
    },
  };
}

const list = (...models: string[]): ProbeFinding => ({
  kind: "responds",
  isList: true,
  models,
  aliases: [],
});
const silent = (isAccepted: boolean): ProbeFinding => ({
  kind: "silent",
  problem: "no response in time",
  isAccepted,
});

type EventName =
  | "list has the model"
  | "list has another model"
  | "list is empty"
  | "list refuses"
  | "list responds 503"
  | "list responds 502 or 504"
  | "no connection"
  | "silence"
  | "silence, accepted"
  | "call responds 200"
  | "call responds 400"
  | "call responds 401"
  | "call responds 403"
  | "call responds 407"
  | "call responds 500"
  | "call responds 502"
  | "call responds 503"
  | "call says that it loads"
  | "call reaches no server"
  | "call breaks off"
  | "other credentials"
  | "other model";

const perform: Record<EventName, (machine: ServerReadiness, nowMs: number) => void> = {
  "list has the model": (machine, nowMs) => machine.probed(list("a", "llama3:latest"), nowMs),
  "list has another model": (machine, nowMs) => machine.probed(list("qwen"), nowMs),
  "list is empty": (machine, nowMs) => machine.probed(list(), nowMs),
  "list refuses": (machine, nowMs) => machine.probed({ kind: "refuses" }, nowMs),
  "list responds 503": (machine, nowMs) => machine.probed({ kind: "loads" }, nowMs),
  "list responds 502 or 504": (machine, nowMs) =>
    machine.probed({ kind: "down", problem: "GET /models returned 502" }, nowMs),
  "no connection": (machine, nowMs) => machine.probed({ kind: "down", problem: "refused" }, nowMs),
  silence: (machine, nowMs) => machine.probed(silent(false), nowMs),
  "silence, accepted": (machine, nowMs) => machine.probed(silent(true), nowMs),
  "call responds 200": (machine, nowMs) =>
    machine.callResponded(200, nowMs, machine.credentials, "ada"),
  "call responds 400": (machine, nowMs) =>
    machine.callResponded(400, nowMs, machine.credentials, "ada"),
  "call responds 401": (machine, nowMs) =>
    machine.callResponded(401, nowMs, machine.credentials, "ada"),
  "call responds 403": (machine, nowMs) =>
    machine.callResponded(403, nowMs, machine.credentials, "ada"),
  "call responds 407": (machine, nowMs) =>
    machine.callResponded(407, nowMs, machine.credentials, "ada"),
  "call responds 500": (machine, nowMs) =>
    machine.callResponded(500, nowMs, machine.credentials, "ada"),
  "call responds 502": (machine, nowMs) =>
    machine.callResponded(502, nowMs, machine.credentials, "ada"),
  "call responds 503": (machine, nowMs) =>
    machine.callResponded(503, nowMs, machine.credentials, "ada"),
  "call says that it loads": (machine, nowMs) => machine.callLoads(nowMs),
  "call reaches no server": (machine, nowMs) => machine.callFailed("provider_unreachable", nowMs),
  "call breaks off": (machine, nowMs) => machine.callFailed("provider_disconnected", nowMs),
  "other credentials": (machine, nowMs) => machine.credentialsChanged(nowMs),
  "other model": (machine, nowMs) => machine.modelChanged(nowMs),
};

type State =
  | "not looked at"
  | "ready, by the list"
  | "ready, with credentials that work"
  | "loading, by the list"
  | "loading, by a call"
  | "needs credentials, by the list"
  | "needs credentials, by a call"
  | "down"
  | "wrong model";

/** How each state is reached. */
const reach: Record<State, EventName[]> = {
  "not looked at": [],
  "ready, by the list": ["list has the model"],
  "ready, with credentials that work": ["list has the model", "call responds 200"],
  "loading, by the list": ["list has the model", "list responds 503"],
  "loading, by a call": ["list has the model", "call says that it loads"],
  "needs credentials, by the list": ["list refuses"],
  "needs credentials, by a call": ["list has the model", "call responds 401"],
  down: ["list has the model", "no connection"],
  "wrong model": ["list has the model", "list has another model"],
};

/** What a look or a response says of every server, whatever was known before. */
const certain = {
  "list responds 503": "loading",
  "list responds 502 or 504": "down",
  "no connection": "down",
  "call responds 401": "needs-credentials",
  "call responds 407": "needs-credentials",
  "call says that it loads": "loading",
} as const;

/** What says nothing new, but for a probe that follows. */
function unmoved<Verdict extends Readiness>(verdict: Verdict) {
  return {
    silence: verdict,
    "silence, accepted": verdict,
    "call responds 403": verdict,
    "call responds 502": verdict,
    "call responds 503": verdict,
    "call reaches no server": verdict,
    "call breaks off": verdict,
  } as const;
}

const fromReady = {
  ...certain,
  ...unmoved("ready"),
  "list has the model": "ready",
  "list has another model": "wrong-model",
  "list is empty": "ready",
  "list refuses": "needs-credentials",
  "call responds 200": "ready",
  "call responds 400": "ready",
  "call responds 500": "ready",
  "other credentials": "ready",
  "other model": "ready",
} as const;

const table: Record<State, Record<EventName, Readiness>> = {
  "not looked at": { ...fromReady, "list has another model": "ready" },
  "ready, by the list": fromReady,
  "ready, with credentials that work": {
    ...fromReady,
    "list refuses": "ready",
    "call responds 401": "ready",
    "call responds 407": "ready",
  },
  "loading, by the list": {
    ...certain,
    ...unmoved("loading"),
    "list has the model": "ready",
    "list has another model": "wrong-model",
    "list is empty": "ready",
    "list refuses": "needs-credentials",
    "call responds 200": "ready",
    "call responds 400": "loading",
    "call responds 500": "loading",
    "other credentials": "loading",
    "other model": "loading",
  },
  "loading, by a call": {
    ...certain,
    ...unmoved("loading"),
    "list has the model": "loading",
    "list has another model": "loading",
    "list is empty": "loading",
    "list refuses": "loading",
    "call responds 200": "ready",
    "call responds 400": "loading",
    "call responds 500": "loading",
    "other credentials": "loading",
    "other model": "loading",
  },
  "needs credentials, by the list": {
    ...certain,
    ...unmoved("needs-credentials"),
    "list has the model": "ready",
    "list has another model": "ready",
    "list is empty": "ready",
    "list refuses": "needs-credentials",
    "call responds 200": "ready",
    "call responds 400": "needs-credentials",
    "call responds 500": "needs-credentials",
    "other credentials": "ready",
    "other model": "needs-credentials",
  },
  "needs credentials, by a call": {
    ...certain,
    ...unmoved("needs-credentials"),
    "list has the model": "needs-credentials",
    "list has another model": "wrong-model",
    "list is empty": "needs-credentials",
    "list refuses": "needs-credentials",
    "call responds 200": "ready",
    "call responds 400": "needs-credentials",
    "call responds 500": "needs-credentials",
    "other credentials": "ready",
    "other model": "needs-credentials",
  },
  down: {
    ...certain,
    ...unmoved("down"),
    "list has the model": "ready",
    "list has another model": "wrong-model",
    "list is empty": "ready",
    "list refuses": "needs-credentials",
    "call responds 200": "ready",
    "call responds 400": "ready",
    "call responds 500": "ready",
    "other credentials": "down",
    "other model": "down",
  },
  "wrong model": {
    ...certain,
    ...unmoved("wrong-model"),
    "call responds 401": "wrong-model",
    "call responds 407": "wrong-model",
    "list has the model": "ready",
    "list has another model": "wrong-model",
    "list is empty": "wrong-model",
    "list refuses": "wrong-model",
    "call responds 200": "wrong-model",
    "call responds 400": "wrong-model",
    "call responds 500": "wrong-model",
    "other credentials": "wrong-model",
    "other model": "ready",
  },
};

for (const state of Object.keys(table) as State[]) {
  test(`from ${state}, each event leads where the table says`, () => {
    const events = Object.keys(perform) as EventName[];
    const found = events.map((event) => {
      const server = startMachine()
        .do(...reach[state])
        .do(event);
      return [event, server.verdict.readiness];
    });
    expect(Object.fromEntries(found)).toEqual(table[state]);
  });
}

test("each verdict says in words why no request should come", () => {
  const problems = (Object.keys(reach) as State[]).map((state) => {
    const { verdict } = startMachine().do(...reach[state]);
    return [verdict.readiness, verdict.problem];
  });
  expect(problems).toEqual([
    ["ready", undefined],
    ["ready", undefined],
    ["ready", undefined],
    ["loading", "is loading its model"],
    ["loading", "is loading its model"],
    ["needs-credentials", "requires credentials"],
    ["needs-credentials", "requires credentials"],
    ["down", "refused"],
    ["wrong-model", "now serves qwen"],
  ]);
});

test("a change is reported once, another reason of the same verdict too, and when it began stays", () => {
  const server = startMachine().do("no connection", "no connection").pass(7);
  server.do("list responds 502 or 504").pass(7).do("list has the model", "call responds 200");
  expect(server.reported).toMatchObject([
    { readiness: "down", problem: "refused", sinceMs: 0 },
    { readiness: "down", problem: "GET /models returned 502", sinceMs: 0 },
    { readiness: "ready", problem: undefined, sinceMs: 14 },
  ]);
});

describe("a server that loads its model", () => {
  test("is looked at after 1 s, then ever less, every 15 s in the end", () => {
    const server = startMachine().do("list responds 503");
    const pauses: number[] = [];
    for (let looks = 0; looks < 60; looks++) {
      pauses.push(server.lookInMs);
      server.pass(server.lookInMs).do("list responds 503");
    }
    expect(pauses.slice(0, 16)).toEqual(Array.from({ length: 16 }, () => 1_000));
    expect(pauses[20]).toBeGreaterThan(1_000);
    expect(pauses.at(-1)).toBe(15_000);
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
    expect(server.reported).toHaveLength(1);
  });

  test("is down after more than loadingMs, is looked at every 15 s, and is back when it responds", () => {
    const server = startMachine().do("list responds 503").pass(loadingMs).do("list responds 503");
    expect(server.verdict).toMatchObject({ readiness: "loading", sinceMs: 0 });
    server.pass(1).do("list responds 503");
    expect(server.verdict).toMatchObject({
      readiness: "down",
      problem: "has been loading its model for over 15 min",
      sinceMs: loadingMs + 1,
    });
    expect(server.lookInMs).toBe(15_000);
    server.pass(15_000).do("list has the model");
    expect(server.verdict.readiness).toBe("ready");
  });

  test("whose list is fine is left alone for 1 s after a 503 at a call, twice as long after each further, 15 s at most", () => {
    const server = startMachine().do("list has the model");
    const pauses: number[] = [];
    for (let round = 0; round < 6; round++) {
      server.do("call says that it loads", "call says that it loads");
      pauses.push(server.lookInMs);
      server.pass(server.lookInMs - 1).do("list has the model");
      expect(server.verdict.readiness).toBe("loading");
      server.pass(1).do("list has the model");
      expect(server.verdict.readiness).toBe("ready");
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    server.do("call responds 200", "call says that it loads");
    expect(server.lookInMs).toBe(1_000);
  });

  test("has loaded since its first 503 when it was ready for no more than 15 s in between, or else anew", () => {
    const server = startMachine()
      .do("call says that it loads")
      .pass(1_000)
      .do("list has the model");
    server.pass(15_000).do("call says that it loads");
    expect(server.verdict).toMatchObject({ readiness: "loading", sinceMs: 0 });
    server.pass(2_000).do("list has the model").pass(15_001).do("call says that it loads");
    expect(server.verdict).toMatchObject({ readiness: "loading", sinceMs: 33_001 });
    server.do("call responds 200").pass(1).do("call says that it loads");
    expect(server.verdict).toMatchObject({ readiness: "loading", sinceMs: 33_002 });
  });
});

describe("a server that takes its time", () => {
  test("keeps its verdict while it takes connections, however long it leaves the list request pending", () => {
    const server = startMachine().do("list has the model");
    for (let minutes = 0; minutes < 60; minutes++) server.pass(60_000).do("silence, accepted");
    expect(server.verdict.readiness).toBe("ready");
  });

  test("keeps its verdict while a request runs, and is down after 60 s without either", () => {
    const server = startMachine().do("list has the model");
    server.machine.callStarted();
    server.pass(600_000).do("silence");
    server.machine.callEnded(server.nowMs);
    expect(server.lookInMs).toBe(readyLookMs);
    server.pass(59_999).do("silence");
    expect(server.verdict.readiness).toBe("ready");
    expect(server.lookInMs).toBe(downLookMs);
    server.pass(1).do("silence");
    expect(server.verdict).toMatchObject({ readiness: "down", problem: "no response in time" });
  });

  test("that never responded at all is down after 60 s", () => {
    const server = startMachine().pass(59_999).do("silence");
    expect(server.verdict.readiness).toBe("ready");
    expect(server.pass(1).do("silence").verdict.readiness).toBe("down");
  });
});

describe("credentials that a call had refused", () => {
  test("are required until a call succeeds, whatever the list and outages report in between", () => {
    const server = startMachine().do("call responds 401", "list has the model", "no connection");
    server.do("list responds 503", "list has the model");
    expect(server.verdict.readiness).toBe("needs-credentials");
    expect(server.do("call responds 200").verdict.readiness).toBe("ready");
  });

  test("that worked make a list that requires others as good as any, until a call is refused", () => {
    const server = startMachine().do("call responds 200", "list refuses");
    expect(server.verdict.readiness).toBe("ready");
    server.do("call responds 401", "other credentials", "list refuses");
    expect(server.verdict.readiness).toBe("needs-credentials");
  });
});

describe("a response to credentials that were changed meanwhile", () => {
  test("says nothing of those of now, whether it refuses or succeeds", () => {
    const { machine } = startMachine();
    const old = machine.credentials;
    machine.credentialsChanged(0);
    machine.callResponded(401, 0, old, "ada");
    expect(machine.verdict.readiness).toBe("ready");
    machine.callResponded(401, 0, machine.credentials, "ada");
    machine.callResponded(200, 0, old, "ada");
    expect(machine.verdict.readiness).toBe("needs-credentials");
  });

  test("still reports the rest: that the server loads, or that it is back", () => {
    const { machine } = startMachine();
    const old = machine.credentials;
    machine.credentialsChanged(0);
    machine.callLoads(0);
    expect(machine.verdict.readiness).toBe("loading");
    machine.callResponded(200, 0, old, "ada");
    expect(machine.verdict.readiness).toBe("ready");
  });
});

describe("another model", () => {
  test("is proven by a list that had the participant's and has it no more, and is back with it", () => {
    const server = startMachine();
    server.probe(list("llama3"));
    server.probe(list("qwen", "phi", "gemma"));
    expect(server.verdict).toMatchObject({
      readiness: "wrong-model",
      problem: "now serves qwen and 2 more",
      serves: ["qwen", "phi", "gemma"],
    });
    server.probe(list("qwen", "llama3:latest"));
    expect(server.verdict).toMatchObject({ readiness: "ready", serves: [] });
  });

  test("is none while the list has the participant's under an alias", () => {
    const server = startMachine();
    server.probe({
      kind: "responds",
      isList: true,
      models: ["/models/a.gguf"],
      aliases: ["x", "llama3"],
    });
    server.probe({
      kind: "responds",
      isList: true,
      models: ["/models/b.gguf"],
      aliases: ["llama3:latest"],
    });
    expect(server.verdict.readiness).toBe("ready");
    server.probe({ kind: "responds", isList: true, models: ["/models/b.gguf"], aliases: ["x"] });
    expect(server.verdict.readiness).toBe("wrong-model");
  });

  test("is proven again for each name that the participant takes", () => {
    const server = startMachine();
    server.probe(list("llama3"));
    server.serve("qwen");
    server.probe(list("phi"));
    expect(server.verdict.readiness).toBe("ready");
    server.probe(list("qwen"));
    server.probe(list("phi"));
    expect(server.verdict.readiness).toBe("wrong-model");
    server.serve("phi");
    expect(server.verdict.readiness).toBe("ready");
    server.probe(list("gemma"));
    expect(server.verdict.readiness).toBe("wrong-model");
  });
});

describe("a look", () => {
  test("is due at once, every 30 s while the server is ready, every 5 s while it is down, else every 15 s", () => {
    expect(startMachine().lookInMs).toBe(0);
    const pauses = (Object.keys(reach) as State[]).slice(1).map((state) => {
      return [state, startMachine().do(...reach[state]).lookInMs];
    });
    expect(Object.fromEntries(pauses)).toEqual({
      "ready, by the list": 30_000,
      "ready, with credentials that work": 30_000,
      "loading, by the list": 1_000,
      "loading, by a call": 1_000,
      "needs credentials, by the list": 15_000,
      "needs credentials, by a call": 30_000,
      down: 5_000,
      "wrong model": 15_000,
    });
  });

  test("is due at once after a call that found no server, or the response of a gateway; once a second however many there are", () => {
    for (const event of [
      "call reaches no server",
      "call breaks off",
      "call responds 502",
    ] as const) {
      const server = startMachine().do("list has the model").pass(3).do(event, event);
      expect([event, server.lookInMs, server.moves]).toEqual([event, 0, 1]);
      server.do("list has the model").pass(3).do(event, event);
      expect([event, server.lookInMs, server.moves]).toEqual([event, 997, 2]);
    }
    const down = startMachine().do("no connection").pass(3).do("call reaches no server");
    expect(down.lookInMs).toBe(downLookMs - 3);
  });

  test("is spared by the bytes of a running response, once for each 30 s", () => {
    const server = startMachine().do("list has the model");
    server.machine.callStarted();
    server.machine.callFlows();
    expect(server.pass(29_999).machine.startLook(server.nowMs)).toBe(false);
    expect(server.pass(1).machine.startLook(server.nowMs)).toBe(false);
    expect(server.lookInMs).toBe(readyLookMs);
    expect(server.pass(readyLookMs).machine.startLook(server.nowMs)).toBe(true);
    server.machine.callFlows();
    server.machine.callEnded(server.nowMs);
    expect(server.machine.startLook(server.nowMs)).toBe(true);
  });
});

test("whatever happens in whatever order, the verdict keeps its promises", () => {
  const events = Object.keys(perform) as EventName[];
  const step = record({ event: constantFrom(...events), passMs: nat(40_000) });
  assert(
    property(array(step, { maxLength: 80 }), (steps) => {
      const server = startMachine();
      let isRefusedAtCall = false;
      let haveWorked = false;
      let wasListed = false;
      let last = server.verdict;
      for (const { event, passMs } of steps) {
        const before = server.verdict;
        server.pass(passMs).do(event);
        const { readiness, problem, sinceMs, serves } = server.verdict;

        const isRefusal = event === "call responds 401" || event === "call responds 407";
        if (isRefusal && !haveWorked) isRefusedAtCall = true;
        if (event === "call responds 200" || event === "other credentials") isRefusedAtCall = false;
        if (event === "call responds 200") haveWorked = true;
        if (event === "other credentials") haveWorked = false;
        if (event === "list has the model") wasListed = true;
        if (event === "other model") wasListed = false;

        if (isRefusedAtCall) expect(readiness).not.toBe("ready");
        if (!wasListed) expect(readiness).not.toBe("wrong-model");
        if (event === "call responds 403") expect(server.verdict).toBe(before);
        if (event === "call responds 200") expect(["ready", "wrong-model"]).toContain(readiness);
        if (event === "call says that it loads") expect(["loading", "down"]).toContain(readiness);
        if (readiness === "loading") expect(server.nowMs - sinceMs).toBeLessThanOrEqual(loadingMs);

        if (readiness !== "ready") expect(problem).toBeDefined();
        else if (!haveWorked) expect(problem).toBeUndefined();
        expect(serves.length > 0).toBe(readiness === "wrong-model");
        expect(sinceMs).toBeLessThanOrEqual(server.nowMs);
        expect(server.lookInMs).toBeLessThanOrEqual(readyLookMs);
        if (readiness === "loading") expect(server.lookInMs).toBeLessThanOrEqual(15_000);

        const latest = server.reported.at(-1) ?? last;
        expect(latest).toBe(server.verdict);
        if (latest !== last) {
          expect([latest.readiness, latest.problem]).not.toEqual([last.readiness, last.problem]);
        }
        last = latest;
      }
    }),
    { numRuns: 300 },
  );
});
