import { array, assert, constantFrom, integer, property, record, string } from "fast-check";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { resync } from "@roomhub/room-state";
import { displayWidth } from "../../terminal/display-width.ts";
import { aParticipant } from "../../test-context.fixture.ts";
import { explanationLines, renderFrame } from "./frame.ts";
import { createColors } from "../../terminal/text.ts";
import { PARTICIPANT_COLUMNS } from "./participant-rows.ts";
import { REQUEST_COLUMNS } from "./request-rows.ts";
import { aView, lively } from "./top.fixture.ts";

const sizes = [
  [80, 24],
  [120, 40],
  [40, 12],
] as const;

/** A frame between lines that show how wide it may be. */
function framed(lines: readonly string[], columns: number): string {
  const edge = "-".repeat(columns);
  return `\n${[edge, ...lines, edge].join("\n")}\n`;
}

test.each(sizes)("a lively room at %i×%i", (columns, rows) => {
  expect(framed(renderFrame(aView(columns, rows)), columns)).toMatchSnapshot();
});

test.each(sizes)("an empty room at %i×%i", (columns, rows) => {
  expect(framed(renderFrame(aView(columns, rows, [])), columns)).toMatchSnapshot();
});

test.each(sizes)("what is shown is explained at %i×%i", (columns, rows) => {
  const lines = explanationLines(aView(columns, rows));
  expect(lines).toHaveLength(rows);
  for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
  if (rows >= 24 && columns >= 80) expect(lines.join("\n")).not.toContain("…");
});

test("every heading of the tables is explained", () => {
  const text = explanationLines(aView(120, 40)).join("\n");
  const plain = ["PARTICIPANT", "MODEL", "CLIENT"];
  const headings = [...PARTICIPANT_COLUMNS, ...REQUEST_COLUMNS].map(({ heading }) => heading);
  for (const heading of headings) if (!plain.includes(heading)) expect(text).toContain(heading);
});

test("a broken connection is in the title", () => {
  const link = { kind: "broken", reason: "ECONNRESET", retryInMs: 4_000 } as const;
  expect(renderFrame(aView(80, 24, lively, link))[0]).toContain("disconnected, retry in 4.0 s");
});

test("a participant that lost its connection shows how many requests wait for it", () => {
  const { connection, ...ana } = aParticipant({ id: "ana" });
  const resuming = { streams: 2, sinceMs: 0 };
  const lost = { ...connection, connected: false, readiness: "loading", resuming } as const;
  const view = aView(120, 24, []);
  const participants = [{ ...ana, connection: lost }];
  const state = resync(view.state, { participants, requests: [] }, view.nowMs);
  const row = renderFrame({ ...view, state }).find((line) => line.startsWith("ana"));
  expect(row).toContain("connection lost, 2 streams waiting");
});

test("a participant that is ready shows whether it is a stand-in", () => {
  const view = aView(120, 24, []);
  const participants = [
    aParticipant({ id: "ana-demo", standIn: true }),
    aParticipant({ id: "bea" }),
  ];
  const frame = renderFrame({
    ...view,
    state: resync(view.state, { participants, requests: [] }, view.nowMs),
  });
  const stateOf = (id: string) =>
    frame
      .find((line) => line.startsWith(id))
      ?.trim()
      .split(" ")
      .at(-1);
  expect([stateOf("ana-demo"), stateOf("bea")]).toEqual(["stand-in", "ready"]);
});

test("colours change nothing but the colour", () => {
  const view = { ...aView(80, 24), colors: createColors(true) };
  const coloured = renderFrame(view);
  expect(coloured.join("")).toContain("\u001b[");
  expect(coloured.map(stripVTControlCharacters)).toEqual(renderFrame(aView(80, 24)));
});

test("participants and requests beyond the screen are counted", () => {
  const many = Array.from({ length: 30 }, (_, index) => aParticipant({ id: `p${index}` }));
  const view = aView(80, 24, []);
  const state = resync(view.state, { participants: many, requests: [] }, view.nowMs);
  const frame = renderFrame({ ...view, state });
  expect(frame).toHaveLength(24);
  const shown = frame.filter((line) => /^p\d/.test(line)).length;
  expect(shown).toBeGreaterThan(5);
  expect(frame).toContain(`… ${30 - shown} more`);
});

test("a frame has as many lines as the terminal, none wider, and no control characters, whatever the network sends", () => {
  const name = string({ unit: "grapheme", maxLength: 30 });
  const hostile = constantFrom("\u001b[2J", "a\nb", "\u202e", "👩‍👩‍👧‍👦", "한국어", "\u009b31m", "");
  assert(
    property(
      integer({ min: 1, max: 130 }),
      integer({ min: 1, max: 50 }),
      array(record({ id: name, model: name, tail: hostile }), { maxLength: 12 }),
      (columns, rows, all) => {
        const view = aView(columns, rows);
        const listed = all.map(({ id, model, tail }) =>
          aParticipant({ id: id + tail, model: tail + model }),
        );
        const requests = all.map(({ id, model, tail }, index) => ({
          requestId: String(index),
          state: constantStates[index % 3] ?? "queued",
          ...{ selector: tail, protocol: "chatCompletions" as const, attempt: 1, startedAt: 0 },
          client: { kind: "name" as const, id: model + tail },
          ...{ participantId: id + tail, model: tail + model },
        }));
        const state = resync(view.state, { participants: listed, requests }, view.nowMs);
        const frame = renderFrame({ ...view, state });
        expect(frame).toHaveLength(rows);
        for (const line of frame) {
          expect(displayWidth(line)).toBeLessThanOrEqual(columns);
          expect(line).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
        }
      },
    ),
    { numRuns: 100 },
  );
});

const constantStates = ["queued", "running", "streaming"] as const;
