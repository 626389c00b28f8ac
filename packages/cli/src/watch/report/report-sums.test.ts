import type { HubEvent } from "@roomhub/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { eventRecord, gapRecord } from "../record/record-line.ts";
import { aComplete, aFailure } from "../../test-context.fixture.ts";
import { Quantiles, ReportSums } from "./report-sums.ts";
import { reportSummary } from "./report-tables.ts";

function reportOf(...lines: (string | null)[]) {
  const sums = new ReportSums();
  for (const line of lines) sums.note(line);
  return sums.report();
}

const complete = eventRecord("b-1", aComplete);
const failed = eventRecord("b-2", aFailure);

test("requests, errors, speed and usage are summed", () => {
  expect(reportOf(complete, failed, failed, "")).toEqual({
    from: "2026-01-02T03:04:05.000Z",
    to: "2026-01-02T03:04:06.000Z",
    requests: 3,
    errors: 2,
    resumes: 0,
    failures: [{ stage: "routing", code: "model_not_found", requests: 2 }],
    ttftMs: { p50: 123, p95: 123, p99: 123 },
    tokensPerSecond: { p50: 32.8, p95: 32.8, p99: 32.8 },
    usage: [
      expect.objectContaining({
        person: "alice",
        requests: 1,
        outputTokens: { tokens: 80, worth: "exact" },
      }),
      expect.objectContaining({ person: "-", requests: 2, errors: 2 }),
    ],
    missedEvents: 0,
    restarts: 0,
    unreadableLines: 0,
  });
});

test("responses that went on after a lost connection are counted as often as that happened", () => {
  const report = reportOf(eventRecord("b-1", { ...aComplete, resumes: 2 } as HubEvent), complete);
  expect(reportSummary(report)).toMatch(
    /: 2 requests, 0 errors, 2 resumes after a lost connection$/,
  );
  expect(reportSummary(reportOf(complete))).toMatch(/: 1 request, 0 errors$/);
});

test("the output of events --json is read too", () => {
  expect(reportOf(JSON.stringify(aComplete))).toEqual(reportOf(complete));
});

test("events of an older hub, without a client, count for no person", () => {
  const older = { ...aComplete, client: undefined } as unknown as HubEvent;
  expect(reportOf(eventRecord("b-1", older)).usage).toMatchObject([{ person: "-", requests: 1 }]);
});

test("gaps are events that were not recorded, or restarts of the hub", () => {
  const gap = { from: "b-1", to: "b-5" };
  expect(
    reportOf(
      gapRecord({ ...gap, missed: 3 }),
      gapRecord({ ...gap, missed: 4 }),
      gapRecord({ ...gap, missed: null }),
    ),
  ).toMatchObject({ missedEvents: 7, restarts: 1, unreadableLines: 0 });
});

test("a line that is no record is counted and breaks nothing, whatever it is", () => {
  const broken = [null, "hello", complete.slice(0, 40), '{"id":"b-1","name":"llm.complete"}', "[]"];
  expect(reportOf(...broken)).toMatchObject({ requests: 0, from: null, unreadableLines: 5 });
  const record = fc.record({
    name: fc.constantFrom("llm.complete", "llm.error", "room.created", "x"),
    time: fc.oneof(fc.string(), fc.constant("2026-01-02T03:04:05.000Z")),
    payload: fc.jsonValue(),
    gap: fc.option(fc.jsonValue()),
  });
  const value = fc.oneof(
    fc.json(),
    fc.string(),
    record.map((each) => JSON.stringify(each)),
  );
  fc.assert(
    fc.property(value, (line) => {
      const { requests, errors } = reportOf(line);
      expect(requests).toBe(0);
      expect(errors).toBe(0);
    }),
  );
});

test("codes without end share one row", () => {
  const lines = Array.from({ length: 1_100 }, (_, index) =>
    eventRecord("b-1", { ...aFailure, code: `c${index}` } as HubEvent),
  );
  const { failures } = reportOf(...lines);
  expect(failures).toHaveLength(1_001);
  expect(failures[0]).toEqual({ stage: "routing", code: "others", requests: 100 });
});

test("percentiles are exact to 3 %", () => {
  const sample = fc.double({ min: 0.01, max: 100_000, noNaN: true });
  fc.assert(
    fc.property(fc.array(sample, { minLength: 1, maxLength: 200 }), (samples) => {
      const quantiles = new Quantiles(0.001);
      for (const each of samples) quantiles.record(each);
      const sorted = samples.toSorted((one, other) => one - other);
      const { p50, p95, p99 } = quantiles.percentiles() ?? { p50: 0, p95: 0, p99: 0 };
      for (const [share, value] of [
        [0.5, p50],
        [0.95, p95],
        [0.99, p99],
      ] as const) {
        const exact = sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
        expect(Math.abs(value / exact - 1)).toBeLessThan(0.03);
      }
    }),
  );
  expect(new Quantiles(1).percentiles()).toBeNull();
});
