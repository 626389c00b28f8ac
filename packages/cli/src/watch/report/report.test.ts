import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { eventRecord, gapRecord } from "../record/record-line.ts";
import { aComplete, aFailure, makeWorld } from "../../test-context.fixture.ts";

function filesWith(files: Record<string, readonly string[]>) {
  return {
    readLines: async function* (path: string) {
      const lines = files[path];
      if (lines === undefined) throw new Error(`ENOENT: no such file, open '${path}'`);
      yield* lines;
    },
  };
}

const lines = [eventRecord("b-1", aComplete), eventRecord("b-2", aFailure)];

test("a report is a sentence and tables", async () => {
  const gap = gapRecord({ from: "b-1", to: "b-5", missed: 3 });
  const world = makeWorld(filesWith({ one: lines, two: [gap, "cut"] }));
  expect(await world.run("report", "one", "two")).toBe(0);
  expect(world.stdout.text).toMatchInlineSnapshot(`
    "2026-01-02T03:04:05.000Z to 2026-01-02T03:04:06.000Z: 2 requests, 1 error
    3 events not recorded
    1 line not read

                              P50   P95   P99
    time to first token (ms)  123   123   123
    tokens per second         32.8  32.8  32.8

    STAGE    CODE             REQUESTS
    routing  model_not_found  1

    PERSON  PARTICIPANT  MODEL   REQUESTS  ERRORS  INPUT  OUTPUT  CACHED
    alice   ana-llama3   llama3  1         0       –      80      –
    -       -            -       1         1       –      –       –
    "
  `);
});

test("report --json is one object", async () => {
  const world = makeWorld(filesWith({ one: lines }));
  await world.run("report", "one", "--json");
  expect(JSON.parse(world.stdout.text)).toMatchObject({
    ...{ requests: 2, errors: 1, missedEvents: 0 },
    usage: [{ outputTokens: 80, inputTokens: null }, { outputTokens: null }],
  });
});

test("report --html is one page without a script, in which nothing from the network is markup", async () => {
  const evil = `"><script>alert('1')</script><img src=x onerror=alert(1)>`;
  const event = { ...aFailure, code: evil, stage: "provider", participantId: evil, model: evil };
  const world = makeWorld(filesWith({ one: [eventRecord("b-1", event as HubEvent)] }));
  await world.run("report", "one", "--html");
  const page = world.stdout.text;
  expect(page).toMatch(/^<!doctype html>/);
  expect(page).toContain("&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)");
  expect(page).not.toMatch(/<script|<img|<link|src=[^x]|@import|url\(/);
});

test("nothing that was recorded is an empty report", async () => {
  const world = makeWorld(filesWith({ one: [] }));
  await world.run("report", "one");
  expect(world.stdout.text).toBe("No events: 0 requests, 0 errors\n");
});

test("a file that cannot be read is an error with the next step", async () => {
  const world = makeWorld(filesWith({}));
  expect(await world.run("report", "lab.ndjson")).toBe(1);
  expect(world.stderr.text).toContain("The recording cannot be read: ENOENT");
  expect(world.stderr.text).toContain("roomhub record ABC234 --out FILE");
});

test("a report is one of JSON and HTML, and of at least one file", async () => {
  const world = makeWorld(filesWith({ one: lines }));
  expect(await world.run("report", "one", "--json", "--html")).toBe(2);
  expect(await world.run("report")).toBe(2);
});
