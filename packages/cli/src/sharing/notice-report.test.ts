import { expect, test } from "vitest";
import { createRowFeed } from "../terminal/row-feed.ts";
import type { ParticipantNotice, ParticipantOptions } from "@roomhub/participant";
import { NoticeReport, type ReportOptions } from "./notice-report.ts";
import { makeWorld, passing } from "../test-context.fixture.ts";

const one = { id: "ana-a", endpoint: "http://127.0.0.1:1", model: "a" } as ParticipantOptions;
const two = { ...one, id: "ana-b", model: "b" };
const elsewhere = { ...one, id: "ana-c", endpoint: "http://127.0.0.1:2" };

const lost: ParticipantNotice = { kind: "disconnected", reason: "hub gone", retryInMs: 250 };
const now = { kind: "provider-readiness", problem: undefined, since: 0 } as const;
const ready: ParticipantNotice = { ...now, readiness: "ready" };
const loading: ParticipantNotice = { ...now, readiness: "loading" };
const down: ParticipantNotice = { ...now, readiness: "down", problem: "refused" };
const served: ParticipantNotice = {
  ...{ kind: "request-ended", path: "/chat/completions", model: "a", client: undefined },
  ...{ status: 200, durationMs: 5, outcome: "complete", code: undefined, reason: undefined },
  ...{ ttftMs: 2, outputTokens: 1, tokensPerSecond: 200 },
};

function telling(participants: ParticipantOptions[], options: Partial<ReportOptions> = {}) {
  let nowMs = 0;
  const world = makeWorld({ world: passing({ nowMs: () => nowMs }) });
  const feed = createRowFeed(world.context, world.stderr);
  const report = new NoticeReport(world.context, feed, participants, {
    ...{ isJson: false, isQuiet: false, keysHint: "Ctrl+C leaves" },
    ...options,
  });
  return {
    ...{ world, feed },
    tell: report.note.bind(report),
    pass: (ms: number) => (nowMs += ms),
    lines: () =>
      world.stderr.text
        .trimEnd()
        .split("\n")
        .map((line) => line.replace(/^\d\d:\d\d:\d\d {2}/, "")),
  };
}

test("connecting is one line, when the last of them is there", () => {
  const { tell, lines, world } = telling([one, two]);
  tell(one, { kind: "connected" });
  expect(world.stderr.text).toBe("");
  tell(two, { kind: "connected" });
  expect(lines()).toEqual(["connected; Ctrl+C leaves"]);
});

test("what participants share with others of their machine is one line before that", () => {
  const { tell, lines } = telling([one, two]);
  const machine = { id: "01234567", active: 0, limit: 6 };
  const joined = { kind: "joined", room: "ABC234", warnings: [] } as const;
  tell(one, { ...joined, id: one.id, machine: { ...machine, participants: 5 } });
  tell(two, { ...joined, id: two.id, machine: { ...machine, participants: 6 } });
  for (const participant of [one, two]) tell(participant, { kind: "connected" });
  expect(lines()).toEqual([
    "shares 6 slots with 5 other participants of this machine",
    "connected; Ctrl+C leaves",
  ]);
});

test("a budget that is used up is one line for those that share it, and its end another", () => {
  const { tell, lines } = telling([one, two]);
  for (const problem of ["has used up its budget of 5 tokens a day", undefined]) {
    for (const participant of [one, two]) tell(participant, { kind: "budget", problem });
  }
  expect(lines()).toEqual([
    "no requests are served: the participant has used up its budget of 5 tokens a day",
    "within the budget again: requests are served",
  ]);
});

test("an outage of the hub is one line, and its end another, for all of them", () => {
  const { tell, lines, pass } = telling([one, two]);
  for (const participant of [one, two]) tell(participant, { kind: "connected" });
  tell(one, lost);
  tell(two, lost);
  pass(2000);
  tell(one, { ...lost, reason: "no tunnel: ECONNREFUSED" });
  tell(two, { kind: "connected" });
  pass(1000);
  tell(one, { kind: "connected" });
  expect(lines()).toEqual([
    "connected; Ctrl+C leaves",
    "disconnected: hub gone; reconnecting, next attempt in 250 ms",
    "reconnected after 3.0 s",
  ]);
});

test("an unreachable hub at the start is reported, and the first connection is not a reconnection", () => {
  const { tell, lines } = telling([one]);
  tell(one, lost);
  tell(one, { kind: "connected" });
  expect(lines()).toEqual([
    "disconnected: hub gone; reconnecting, next attempt in 250 ms",
    "connected; Ctrl+C leaves",
  ]);
});

test("a model server outage is one line for all its participants, and its end another", () => {
  const { tell, lines } = telling([one, two, elsewhere]);
  for (const participant of [one, two, elsewhere]) tell(participant, down);
  for (const participant of [one, two]) tell(participant, ready);
  expect(lines()).toEqual([
    "the model server is down: refused; retrying",
    "the model server is down: refused; retrying",
    "the model server is ready again",
  ]);
});

test("each state of a model server is one line for all its participants", () => {
  const { tell, lines } = telling([one, two]);
  for (const notice of [down, loading, down, ready, loading, ready]) {
    for (const participant of [one, two]) tell(participant, notice);
  }
  expect(lines()).toEqual([
    "the model server is down: refused; retrying",
    "the model server is loading its model; requests wait",
    "the model server is down: refused; retrying",
    "the model server is ready again",
    "the model server is loading its model; requests wait",
    "the model server is ready again",
  ]);
});

test("the hub's warnings are printed, with the participant when there are several", () => {
  const joined = { kind: "joined", room: "ABC234", id: "x", warnings: ["an id\u001b"] } as const;
  const alone = telling([one]);
  alone.tell(one, joined);
  expect(alone.lines()).toEqual(["! an id\ufffd"]);
  const several = telling([one, two]);
  several.tell(two, joined);
  expect(several.lines()).toEqual(["! ana-b: an id\ufffd"]);
});

test("one of several that is refused is reported, and not awaited", () => {
  const { tell, lines } = telling([one, two]);
  tell(one, { kind: "stopped", code: "participant_id_taken", reason: "taken" });
  tell(two, { kind: "connected" });
  expect(lines()[0]).toBe("ana-a stopped: taken");
});

test("the next step for a refused participant is on the following line", () => {
  const { tell, lines } = telling([one, two]);
  tell(one, { kind: "stopped", code: "replaced", reason: "taken over", hint: "run only one" });
  expect(lines()).toEqual(["ana-a stopped: taken over", "→ run only one"]);
});

test("--quiet prints problems and recoveries only", () => {
  const { tell, lines, pass } = telling([one], { isQuiet: true });
  tell(one, { kind: "connected" });
  tell(one, served);
  tell(one, lost);
  pass(500);
  tell(one, { kind: "connected" });
  expect(lines()).toEqual([
    "disconnected: hub gone; reconnecting, next attempt in 250 ms",
    "reconnected after 500 ms",
  ]);
});

test("many requests are twenty rows and their count; what goes wrong with the hub is a line all the same", () => {
  const { tell, feed, lines } = telling([one]);
  for (let count = 0; count < 100; count++) tell(one, served);
  tell(one, { ...served, outcome: "failed", status: 500 });
  tell(one, { ...served, outcome: "cancelled" });
  tell(one, lost);
  feed.close();
  const [heading, ...rows] = lines();
  expect(heading).toMatch(/^TIME/);
  expect(rows.slice(0, 20).every((row) => row.includes("ok 200"))).toBe(true);
  expect(rows.slice(20)).toEqual([
    "disconnected: hub gone; reconnecting, next attempt in 250 ms",
    "… 82 more, 1 failed",
  ]);
});

test("as JSON every notice is a line with its participant, errors readable", () => {
  const { tell, world } = telling([one], { isJson: true });
  tell(one, served);
  tell(one, { kind: "fault", error: new Error("a bug") });
  expect(world.stderr.text).toBe("");
  const lines = world.stdout.text.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      participantId: "ana-a",
      kind: "request-ended",
      path: "/chat/completions",
      model: "a",
      status: 200,
      durationMs: 5,
      outcome: "complete",
      ttftMs: 2,
      outputTokens: 1,
      tokensPerSecond: 200,
    },
    { participantId: "ana-a", kind: "fault", error: "a bug" },
  ]);
});
