import { expect, test } from "vitest";
import { exploreResume } from "./resume.fixture.ts";

test("in every order of what can happen, a session that resumes repeats and loses nothing, and in the end both ends agree", async () => {
  const all = await exploreResume("quick");
  expect(all.length).toBeGreaterThan(0);
  expect(all.filter(({ found }) => found !== undefined)).toEqual([]);
}, 120_000);
