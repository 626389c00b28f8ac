import { describe, expect, test } from "vitest";
import type { Participant } from "../domain/participant.ts";
import { isRoutable } from "../domain/readiness.ts";
import { participantView } from "../domain/views.ts";
import {
  announceBudgets,
  participantRests,
  statusReported,
  tunnelClosed,
  tunnelOpened,
  tunnelReported,
  admitResume,
  admitTunnel,
} from "./tunnel-path.ts";
import { createOffice, elsewhere, home, peerAt, tokenOf } from "./operations.fixture.ts";
import { explainRoute } from "./explain-route.ts";
import { recordHeartbeat, viewOf } from "./participants.ts";
import { directReported } from "./direct-path.ts";

async function joined(budget: Participant["load"]["budget"]) {
  const office = createOffice();
  const { participant } = await office.join({ transport: "tunnel" });
  const { context } = office;
  tunnelOpened(context, participant, { ready: true, budget });
  office.seen();
  return {
    ...office,
    participant,
    report: (remainingTokens: number) =>
      statusReported(context, participant, {
        ready: true,
        budget: { ...budget, remainingTokens },
      }),
    rest: (ms: number) => participantRests(context, participant, context.nowMs() + ms),
    isRoutable: () => isRoutable(participant, context.nowMs),
    sweep: (): string[] => {
      announceBudgets(context);
      return office.seen();
    },
    listed: () => participantView(participant, context.nowMs()),
  };
}

const full = { tokensPerDay: 100, remainingTokens: 100 };

describe("a participant with a budget", () => {
  test("is listed with it from the first event of its tunnel, without a second one", async () => {
    const { listed, sweep } = await joined(full);
    expect(listed().budget).toEqual(full);
    expect(sweep()).toEqual([]);
  });

  test("is announced when a tenth is used, while listings are exact", async () => {
    const { report, pass, sweep, listed } = await joined(full);
    pass(5_000);
    report(99);
    expect(listed().budget?.remainingTokens).toBe(99);
    expect(sweep()).toEqual([]);
    report(89);
    expect(sweep()).toEqual(["participant.updated ada"]);
    expect(sweep()).toEqual([]);
  });

  test("has none in listings once its tunnel is closed", async () => {
    const { context, participant, listed } = await joined(full);
    tunnelClosed(context, participant);
    expect(listed().budget).toBeUndefined();
  });
});

describe("a participant that refused a request for its budget", () => {
  test("is passed over until its time is over, and says so in listings", async () => {
    const { rest, pass, sweep, listed, isRoutable, woken } = await joined(undefined);
    pass(5_000);
    rest(25_000);
    expect(isRoutable()).toBe(false);
    expect(listed().connection).toMatchObject({
      connected: true,
      readiness: "ready",
      problem: "its budget is used up for 25 s",
    });
    expect(sweep()).toEqual(["participant.updated ada"]);
    pass(25_000);
    expect(isRoutable()).toBe(true);
    expect(listed().connection.problem).toBeUndefined();
    const wakes = woken.length;
    expect(sweep()).toEqual(["participant.updated ada"]);
    // Requests that wait for others may go to it.
    expect(woken.length).toBeGreaterThan(wakes);
  });

  test("is used again at once when its agent reports renewed tokens", async () => {
    const { report, rest, isRoutable, woken } = await joined(full);
    report(0);
    rest(3_600_000);
    report(0);
    expect(isRoutable()).toBe(false);
    const wakes = woken.length;
    report(100);
    expect(isRoutable()).toBe(true);
    expect(woken.length).toBeGreaterThan(wakes);
  });

  test.each([
    ["its rest was not announced", 0],
    ["the announcement of its end is not due", 5_000],
  ])("gets requests that wait when its time is over, though %s", async (_why, afterMs) => {
    const { rest, pass, sweep, woken } = await joined(undefined);
    pass(afterMs);
    rest(2_000);
    sweep();
    const wakes = woken.length;
    pass(1_999);
    sweep();
    expect(woken.length).toBe(wakes);
    pass(1);
    sweep();
    expect(woken.length).toBe(wakes + 1);
    sweep();
    expect(woken.length).toBe(wakes + 1);
  });

  test("is used again at once when its agent dials again", async () => {
    const { context, participant, rest, isRoutable } = await joined(full);
    rest(3_600_000);
    tunnelOpened(context, participant, { ready: true, budget: full });
    expect(isRoutable()).toBe(true);
  });
});

/** Ada's tunnel is open; her endpoint responded before that. */
async function openOffice(options: Parameters<typeof createOffice>[0] = {}) {
  const office = createOffice(options);
  const { participant } = await office.join();
  office.openTunnel(participant);
  office.pass(1_000);
  office.seen();
  const { context } = office;
  return {
    ...office,
    participant,
    lose: (streams = 2) => tunnelReported(context, participant, { kind: "interrupted", streams }),
    resume: () => tunnelReported(context, participant, { kind: "resumed" }),
    connection: () => viewOf(context, participant).connection,
  };
}

const updated = "participant.updated ada";

describe("a tunnel that lost its connection while streams run", () => {
  test("is shown with one update, as a path that is neither connected nor given up", async () => {
    const { lose, seen, pass, connection, events } = await openOffice();
    lose();
    expect(events[0]?.shown).toMatchObject({
      connection: { connected: false, path: "tunnel", resuming: { streams: 2, sinceMs: 0 } },
    });
    expect(seen()).toEqual([updated]);
    pass(3_400);
    expect(connection()).toMatchObject({
      kind: "tunnel",
      connected: false,
      path: "tunnel",
      readiness: "loading",
      resuming: { streams: 2, sinceMs: 3_400 },
      problem: "connection lost 3 s ago, 2 streams wait for it",
    });
    expect(seen()).toEqual([]);
  });

  test("lets requests wait for it, and does not use its endpoint, which may be dialled", async () => {
    const { context, room, participant, lose, pass, connection, probes } = await openOffice();
    lose(1);
    pass(2_000);
    const question = {
      model: "ada",
      protocol: "chatCompletions",
      promptBytes: 0,
      requires: 0,
      waiting: 0,
    };
    const route = explainRoute(context, room, { ...question, protocol: "chatCompletions" });
    expect([route.outcome, route.participants[0]?.reason]).toEqual([
      "waits",
      "connection lost 2 s ago, 1 stream waits for it; a request waits until it is ready",
    ]);
    const before = probes.length;
    pass(1_000);
    recordHeartbeat(context, room, "ada", peerAt(home));
    expect(probes.length).toBe(before);
    const verdict = { readiness: "ready", problem: "", sinceMs: 0 } as const;
    directReported(context, participant, { kind: "responded", verdict: verdict, isLife: false });
    expect(connection()).toMatchObject({ connected: false, path: "tunnel", readiness: "loading" });
  });

  test("keeps what its agent reported, whatever the hub reads at its endpoint", async () => {
    const { context, participant, lose, seen } = await openOffice();
    statusReported(context, participant, { ready: true, limit: 3, loaded: ["llama3"] });
    lose();
    seen();
    directReported(context, participant, { kind: "load", load: { slots: 9, elsewhere: 0 } });
    directReported(context, participant, { kind: "loaded", models: ["qwen"] });
    expect([participant.load.limit, participant.learned.loadedModels, seen()]).toEqual([
      3,
      ["llama3"],
      [],
    ]);
  });

  test("takes no report that is late, and is not lost twice", async () => {
    const { context, participant, lose, seen, pass, connection } = await openOffice();
    lose();
    pass(5_000);
    seen();
    statusReported(context, participant, { ready: false, reason: "late" });
    lose(7);
    expect(seen()).toEqual([]);
    expect(connection().resuming).toEqual({ streams: 2, sinceMs: 5_000 });
  });
});

describe("a tunnel that is resumed", () => {
  test("is as it was before, with one update, its budget and its rest", async () => {
    const { context, participant, lose, resume, seen, pass, connection } = await openOffice();
    statusReported(context, participant, {
      ready: false,
      readiness: "needs-credentials",
      reason: "its model server wants a key",
      budget: { tokensPerDay: 100, remainingTokens: 50 },
    });
    const { trial } = participant.learned.credentials;
    participant.load.restsUntilMs = 9_000_000;
    const { tunnel } = participant.paths;
    lose();
    expect(participant.learned.credentials.trial).toBe(trial);
    pass(2_100);
    seen();
    resume();
    expect(seen()).toEqual([updated]);
    expect(participant.paths.tunnel).toEqual(tunnel);
    expect(participant).toMatchObject({
      load: { budget: { remainingTokens: 50 }, restsUntilMs: 9_000_000 },
      presence: { lastSeenMs: context.nowMs() },
    });
    expect(participant.learned.credentials.trial).toBe(trial);
    expect(connection().resuming).toBeUndefined();
    expect(connection()).toMatchObject({ connected: true, path: "tunnel" });
  });

  test("does nothing to a tunnel that is open, or closed meanwhile", async () => {
    const { context, participant, lose, resume, seen } = await openOffice();
    resume();
    expect(seen()).toEqual([]);
    lose();
    tunnelClosed(context, participant);
    seen();
    resume();
    expect([participant.paths.tunnel.kind, seen()]).toEqual(["closed", []]);
  });

  test("may be so 60 times within a minute, and a new session anew", async () => {
    const { context, participant, pass } = await openOffice();
    const session = {};
    const admit = (one: object) => admitResume(context, participant, one);
    for (let count = 0; count < 60; count++) admit(session);
    expect(() => admit(session)).toThrow(
      expect.objectContaining({ code: "tunnel_flapping", retryAfterMs: 1_000 }) as Error,
    );
    expect(() => admit({})).not.toThrow();
    pass(60_000);
    expect(() => admit(session)).not.toThrow();
  });
});

describe("a tunnel that does not come back in time", () => {
  test("closes with one update, and its endpoint is used again", async () => {
    const { context, participant, lose, seen, connection } = await openOffice();
    participant.load.budget = { tokensPerDay: 1, remainingTokens: 1 };
    lose();
    seen();
    tunnelClosed(context, participant);
    expect(seen()).toEqual([updated]);
    expect(connection()).toMatchObject({ connected: true, path: "direct", readiness: "ready" });
    expect(participant.load.budget).toBeUndefined();
  });

  test("gives way to a new tunnel with one update", async () => {
    const { context, participant, lose, seen, connection } = await openOffice();
    lose();
    seen();
    tunnelOpened(context, participant);
    expect(seen()).toEqual([updated]);
    expect(connection().resuming).toBeUndefined();
  });
});

describe("silence counts from the last sign of life", () => {
  test("so that the participant is offline after 30 s of it, once, while its streams wait on", async () => {
    const { participant, lose, resume, seen, pass, connection } = await openOffice({
      limits: { resumeMs: 60_000 },
    });
    pass(9_000);
    lose();
    seen();
    // Ada's last sign of life was 10 s before.
    pass(20_000);
    expect([participant.presence.status, seen()]).toEqual(["online", []]);
    pass(1_000);
    expect([participant.presence.status, seen()]).toEqual(["offline", ["participant.offline ada"]]);
    expect(connection()).toMatchObject({ readiness: "down", resuming: { streams: 2 } });
    pass(10_000);
    expect(seen()).toEqual([]);
    resume();
    expect([participant.presence.status, seen()]).toEqual(["online", [updated]]);
    expect(connection()).toMatchObject({ connected: true, readiness: "ready" });
    pass(31_000);
    expect(seen()).toEqual(["participant.offline ada"]);
  });

  test("and a frame after the resume counts as ever", async () => {
    const { context, participant, lose, resume, pass } = await openOffice();
    lose();
    resume();
    pass(20_000);
    tunnelReported(context, participant, { kind: "alive" });
    pass(20_000);
    expect(participant.presence.status).toBe("online");
  });
});

describe("a join in the gap", () => {
  test("without proof is refused while the participant is online, and takes its id once it is offline", async () => {
    const { participant, lose, join, pass, seen, closedTunnels, context, room } =
      await openOffice();
    lose();
    const stranger = () => join({}, peerAt(elsewhere));
    await expect(stranger()).rejects.toMatchObject({ code: "participant_id_taken" });
    pass(40_000);
    seen();
    await stranger();
    expect(seen().slice(0, 2)).toEqual(["participant.left ada", "participant.joined ada"]);
    expect(closedTunnels).toEqual([["ada", "replaced"]]);
    expect(context.registry.room(room).participants.get("ada")).not.toBe(participant);
  });

  test("with a new token closes the tunnel that waits, one with the old token leaves it", async () => {
    const { participant, lose, join, closedTunnels } = await openOffice();
    lose();
    await join({}, peerAt(home));
    expect(closedTunnels).toEqual([["ada", "replaced"]]);
    expect(participant.paths.tunnel.kind).toBe("closed");
  });
});

/** Ada has joined and opened as many tunnels as she may. */
async function flappingOffice() {
  const office = createOffice();
  const outcome = await office.join();
  const { participant } = outcome;
  const admit = () => admitTunnel(office.context, participant);
  for (let count = 0; count < 5; count++) admit();
  office.openTunnel(participant);
  office.seen();
  const problem = () => participantView(participant, office.context.nowMs()).connection.problem;
  return { ...office, outcome, participant, admit, problem };
}

const flapping = expect.objectContaining({
  code: "tunnel_flapping",
  message: "A tunnel of ada was refused: more than 5 were opened with its token within 10 s.",
  retryAfterMs: 10_000,
}) as Error;

test("the sixth tunnel within 10 s is refused, and one update says so, however many follow", async () => {
  const { admit, problem, seen, participant } = await flappingOffice();
  expect(problem()).toBeUndefined();
  for (let count = 0; count < 3; count++) expect(admit).toThrow(flapping);
  expect(seen()).toEqual(["participant.updated ada"]);
  expect(problem()).toBe(
    "a tunnel was refused: more than 5 were opened with its token within 10 s, as by two agents that share it",
  );
  expect(participant.paths.tunnel).toMatchObject({ kind: "open", readiness: "ready" });
});

test("what else is wrong with its path stays in the problem", async () => {
  const { admit, problem, participant } = await flappingOffice();
  participant.paths.tunnel = {
    kind: "open",
    readiness: "down",
    problem: "ECONNREFUSED",
    sinceMs: 0,
  };
  expect(admit).toThrow(flapping);
  expect(problem()).toMatch(/^not ready: ECONNREFUSED; a tunnel was refused: /);
});

test("the problem ends 10 s after the last refusal, with one update", async () => {
  const { admit, problem, seen, pass } = await flappingOffice();
  expect(admit).toThrow(flapping);
  pass(9_000);
  expect(admit).toThrow(flapping);
  pass(9_999);
  expect(problem()).toBeDefined();
  expect(seen()).toEqual(["participant.updated ada"]);
  pass(1);
  expect(problem()).toBeUndefined();
  expect(seen()).toEqual(["participant.updated ada"]);
  pass(60_000);
  expect(seen()).not.toContain("participant.updated ada");
});

test("the problem ends with the next tunnel, in that tunnel's own update", async () => {
  const { admit, problem, seen, pass, openTunnel, participant } = await flappingOffice();
  pass(9_500);
  expect(admit).toThrow(flapping);
  pass(500);
  admit();
  seen();
  openTunnel(participant);
  expect(problem()).toBeUndefined();
  pass(20_000);
  expect(seen().filter((each) => each.startsWith("participant.updated"))).toHaveLength(1);
});

test("a join with the token keeps its count, a join for a new token begins another", async () => {
  const { admit, join, outcome } = await flappingOffice();
  await join({}, peerAt(home, { token: tokenOf(outcome) }));
  expect(admit).toThrow(flapping);
  await join({}, peerAt(home));
  expect(admit).not.toThrow();
});

test("a participant that left is not announced when its refusals are forgotten", async () => {
  const { admit, context, room, pass, seen, participant } = await flappingOffice();
  expect(admit).toThrow(flapping);
  context.registry.remove(context.registry.room(room), participant);
  seen();
  pass(10_000);
  expect(seen()).toEqual([]);
});
