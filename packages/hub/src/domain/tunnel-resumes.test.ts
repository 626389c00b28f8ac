import { expect, test } from "vitest";
import { TunnelResumes } from "./tunnel-resumes.ts";

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
