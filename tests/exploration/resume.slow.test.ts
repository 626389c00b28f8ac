import { expect, test } from "vitest";
import { exploreResume } from "./resume.fixture.ts";

test("in every order of what can happen, a session that resumes repeats and loses nothing, and in the end both ends agree", async () => {
  const all = await exploreResume(process.env["EXPLORE_ALL"] === "1" ? "full" : "deep");
  expect(all.length).toBeGreaterThan(0);
  expect(all.filter(({ found }) => found !== undefined)).toEqual([]);
}, 300_000);

test("the exploration of a resume finds planted defects", async () => {
  const all = await exploreResume("defects");
  expect(all.length).toBeGreaterThan(2);
  expect(all.filter(({ found }) => found === undefined)).toEqual([]);
}, 120_000);
