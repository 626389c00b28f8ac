import { expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { waitingFor } from "./interactivity.ts";
import { capture, makeWorld, passing, type After } from "../test-context.fixture.ts";

/** A wait whose end and whose patience the test decides. */
function aWait(columns?: number, env: CliContext["env"] = {}, isQuiet = false) {
  let patienceMs: number | undefined;
  let lose = () => {};
  const stderr = capture(columns);
  const work = Promise.withResolvers<number>();
  const after: After = (ms, callback) => {
    patienceMs = ms;
    lose = callback;
    return () => (lose = () => {});
  };
  const { context } = makeWorld({ stderr, env, world: passing({ after }) });
  const waited = waitingFor(context, "Waiting for the hub", work.promise, { isQuiet });
  return { stderr, work, waited, losePatience: () => lose(), patienceMs: () => patienceMs };
}

test("what is done within a second is not talked about", async () => {
  const { stderr, work, waited, losePatience, patienceMs } = aWait(80);
  work.resolve(7);
  expect(await waited).toBe(7);
  losePatience();
  expect(patienceMs()).toBe(1000);
  expect(stderr.text).toBe("");
});

test.each<[string, number | undefined, CliContext["env"], string]>([
  ["a terminal has a line for the time being", 80, {}, "Waiting for the hub …\r\u001b[K"],
  [
    "a narrow one has it cut, because half of it could not be taken back",
    10,
    {},
    "Waiting …\r\u001b[K",
  ],
  ["a dumb one keeps it", 80, { TERM: "dumb" }, "Waiting for the hub …\n"],
  ["a pipe keeps it", undefined, {}, "Waiting for the hub …\n"],
])("%s", async (_name, columns, env, text) => {
  const { stderr, work, waited, losePatience } = aWait(columns, env);
  losePatience();
  work.resolve(1);
  await waited;
  expect(stderr.text).toBe(text);
});

test("the line is taken back when the wait fails too, and the failure goes on", async () => {
  const { stderr, work, waited, losePatience } = aWait(80);
  losePatience();
  work.reject(new Error("no"));
  await expect(waited).rejects.toThrow("no");
  expect(stderr.text.endsWith("\r\u001b[K")).toBe(true);
});

test("--quiet prints no progress", async () => {
  const { stderr, work, waited, losePatience } = aWait(80, {}, true);
  losePatience();
  work.resolve(1);
  await waited;
  expect(stderr.text).toBe("");
});
