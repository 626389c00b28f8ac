import { expect, test } from "vitest";
import { createArena, type LaneListener, lanesAtOnce } from "./arena.ts";

interface Sent {
  selector: string;
  signal: AbortSignal;
  listener: LaneListener;
  end: () => void;
  fail: (error: Error) => void;
}

function stage() {
  const sent: Sent[] = [];
  let changes = 0;
  const arena = createArena(
    ({ selector, signal }, listener) =>
      new Promise((resolve, reject) => {
        sent.push({ selector, signal, listener, end: resolve, fail: reject });
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
    () => changes++,
  );
  const kinds = () => arena.lanes().map(({ kind }) => kind);
  return { arena, sent, kinds, changes: () => changes };
}

const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
const five = ["a", "b", "c", "d", "e"].map((selector) => ({ selector, title: selector }));

test("three responses stream at once, and each that ends makes room for the next", async () => {
  const { arena, sent, kinds } = stage();
  arena.start("why?", five);
  expect(kinds()).toEqual(["running", "running", "running", "queued", "queued"]);
  sent[1]?.end();
  await settled();
  expect(kinds()).toEqual(["running", "done", "running", "running", "queued"]);
  sent[0]?.fail(new Error("no participant"));
  await settled();
  expect(kinds()).toEqual(["failed", "done", "running", "running", "running"]);
  expect(arena.lanes()[0]?.problem).toBe("no participant");
  expect(sent.map(({ selector }) => selector)).toEqual(["a", "b", "c", "d", "e"]);
});

test("text and request id belong to the lane that they are for, and a text is bounded", () => {
  const { arena, sent, changes } = stage();
  arena.start("why?", five.slice(0, 2));
  const before = changes();
  sent[1]?.listener.onRequestId("req_1");
  sent[1]?.listener.onText("Because ");
  sent[1]?.listener.onText("x".repeat(100_000));
  expect(changes()).toBe(before + 3);
  const [first, second] = arena.lanes();
  expect(first).toMatchObject({ requestId: undefined, text: "" });
  expect(second?.requestId).toBe("req_1");
  expect(second?.text.length).toBeLessThan(30_000);
});

test("stopping ends what runs and what waits", async () => {
  const { arena, sent, kinds } = stage();
  arena.start("why?", five);
  arena.stop();
  await settled();
  expect(kinds()).toEqual(Array.from(five, () => "stopped"));
  expect(sent).toHaveLength(lanesAtOnce);
  expect(sent.every(({ signal }) => signal.aborted)).toBe(true);
});

test("a new prompt stops the one before, whose texts do not reach it", async () => {
  const { arena, sent, kinds } = stage();
  arena.start("why?", five.slice(0, 1));
  arena.start("how?", five.slice(1, 2));
  sent[0]?.listener.onText("late");
  await settled();
  expect(kinds()).toEqual(["running"]);
  expect(arena.lanes()[0]).toMatchObject({ selector: "b", text: "" });
});
