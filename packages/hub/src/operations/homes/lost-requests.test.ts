import { expect, test } from "vitest";
import type { Served } from "../../events/away-events.ts";
import { type LostRequest, LostRequests } from "./lost-requests.ts";

const lost: LostRequest = {
  requestId: "req_1",
  protocol: "chatCompletions",
  participantId: "ada",
  model: "m",
  attempts: 1,
  queueMs: 0,
};

function startLost() {
  const lab = { nowMs: 0, home: undefined as Served | undefined, said: [] as string[] };
  const ended = new Set<string>();
  const requests = new LostRequests({
    homeOf: () => lab.home,
    endsOnce: (requestId) => !ended.has(requestId) && ended.add(requestId).has(requestId),
    announce: (code, { requestId }) => lab.said.push(`${code} ${requestId} here`),
    tell: (hubId, code, { requestId }) => lab.said.push(`${code} ${requestId} to ${hubId}`),
    nowMs: () => lab.nowMs,
  });
  const at = (ms: number) => {
    for (; lab.nowMs < ms; lab.nowMs += 250) requests.tick();
    requests.tick();
    return lab.said;
  };
  return Object.assign(lab, { requests, ended, at });
}

test("a lost request is told to the next home as soon as there is one, and once", () => {
  const lab = startLost();
  lab.requests.add("ABC234", lost);
  expect(lab.at(4_000)).toEqual([]);
  lab.home = { kind: "there", hub: { hubId: "h2", bootId: "b2" } };
  expect(lab.at(4_250)).toEqual(["ABC234 req_1 to h2"]);
  expect(lab.at(70_000)).toHaveLength(1);
});

test("a lost request is not told to the home that ended with it, but to its next run or another hub", () => {
  const lab = startLost();
  lab.home = { kind: "there", hub: { hubId: "h1", bootId: "b1" } };
  lab.requests.add("ABC234", lost, { hubId: "h1", bootId: "b1" });
  expect(lab.at(3_000)).toEqual([]);
  lab.home = { kind: "there", hub: { hubId: "h1", bootId: "b2" } };
  expect(lab.at(3_250)).toEqual(["ABC234 req_1 to h1"]);
});

test("a lost request waits at its home for those who watch the room, however soon that is served", () => {
  const lab = startLost();
  lab.home = { kind: "here" };
  lab.requests.add("ABC234", lost);
  expect(lab.at(2_750)).toEqual([]);
  expect(lab.at(3_000)).toEqual(["ABC234 req_1 here"]);
});

test("a lost request is announced a second after the room is served", () => {
  const lab = startLost();
  lab.requests.add("ABC234", lost);
  lab.at(4_000);
  lab.home = { kind: "here" };
  expect(lab.at(4_750)).toEqual([]);
  expect(lab.at(5_000)).toEqual(["ABC234 req_1 here"]);
});

test("a home that was only silent tells the end of a lost request before that is announced, or not at all", () => {
  const lab = startLost();
  lab.home = { kind: "here" };
  lab.ended.add("req_1");
  lab.requests.add("ABC234", lost);
  expect(lab.at(5_000)).toEqual([]);
  lab.requests.add("ABC234", { ...lost, requestId: "req_2" });
  expect(lab.ended).toContain("req_2");
});

test("a lost request of a room that nobody serves is forgotten after a minute", () => {
  const lab = startLost();
  lab.requests.add("ABC234", lost);
  lab.at(60_000);
  lab.home = { kind: "here" };
  expect(lab.at(65_000)).toEqual([]);
});

test("a hub that ends says what waits at it", () => {
  const lab = startLost();
  lab.home = { kind: "here" };
  lab.requests.add("ABC234", lost);
  lab.requests.close();
  expect(lab.said).toEqual(["ABC234 req_1 here"]);
  expect(lab.at(5_000)).toHaveLength(1);
});
