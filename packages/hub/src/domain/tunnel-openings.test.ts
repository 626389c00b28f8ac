import { expect, test } from "vitest";
import { aParticipant } from "./room.fixture.ts";
import { TunnelOpenings, TunnelResumes } from "./tunnel-openings.ts";

const ada = aParticipant({ id: "ada" });
const bob = aParticipant({ id: "bob" });

test("as many tunnels as allowed open within the time, and one more once the first of them is past it", () => {
  const openings = new TunnelOpenings(5, 10_000);
  const opened = [0, 1, 2, 3, 4].map((nowMs) => openings.take(ada, nowMs));
  expect(opened).toEqual([true, true, true, true, true]);
  expect([5, 9_999].map((nowMs) => openings.take(ada, nowMs))).toEqual([false, false]);
  expect([10_000, 10_000].map((nowMs) => openings.take(ada, nowMs))).toEqual([true, false]);
});

test("refusals are not counted, however many", () => {
  const openings = new TunnelOpenings(1, 1_000);
  openings.take(ada, 0);
  for (let nowMs = 1; nowMs < 1_000; nowMs++) expect(openings.take(ada, nowMs)).toBe(false);
  expect(openings.take(ada, 1_000)).toBe(true);
});

test("each token has a count of its own, also one with the same bytes", () => {
  const openings = new TunnelOpenings(1, 1_000);
  expect([ada, bob, ada].map((each) => openings.take(each, 0))).toEqual([true, true, false]);
  expect(openings.take({ ...ada, tokenDigest: new Uint8Array(32) }, 0)).toBe(true);
});

test("a participant settles once, when its last refusal is as old as openings count", () => {
  const openings = new TunnelOpenings(1, 1_000);
  for (const nowMs of [0, 10, 500]) openings.take(ada, nowMs);
  openings.take(bob, 600);
  expect(openings.takeSettled(1_499)).toEqual([]);
  expect(openings.takeSettled(1_500)).toEqual([ada]);
  expect(openings.takeSettled(9_000)).toEqual([]);
});

test("a forgiven participant has nothing to settle", () => {
  const openings = new TunnelOpenings(1, 1_000);
  for (const nowMs of [0, 10]) openings.take(ada, nowMs);
  openings.forgive(ada);
  expect(openings.takeSettled(9_000)).toEqual([]);
});

test("a session resumes 60 times in a minute, and once more when the first of them is a minute past", () => {
  const resumes = new TunnelResumes();
  const session = {};
  const taken = Array.from({ length: 60 }, (_, second) => resumes.take(session, second * 100));
  expect(taken).not.toContain(false);
  expect([6_000, 59_999].map((nowMs) => resumes.take(session, nowMs))).toEqual([false, false]);
  expect([60_000, 60_099].map((nowMs) => resumes.take(session, nowMs))).toEqual([true, false]);
});

test("each session has a count of its own", () => {
  const resumes = new TunnelResumes();
  const session = {};
  for (let count = 0; count < 60; count++) resumes.take(session, 0);
  expect([resumes.take(session, 0), resumes.take({}, 0)]).toEqual([false, true]);
});
