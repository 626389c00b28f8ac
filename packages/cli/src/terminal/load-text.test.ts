import type { Load } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { loadColumn, loadSentence } from "./load-text.ts";

const load: Load = { active: 0, queued: 2, limit: 1, limitFrom: "declared" };
const machine = { id: "01234567", active: 6, limit: 6, participants: 6 };

test("a machine that others keep busy explains why a participant without requests is full", () => {
  expect(loadColumn({ ...load, machine })).toBe("0/1, machine 6/6");
  expect(loadSentence({ ...load, machine })).toBe("0/1 running, 6/6 slots of its machine taken");
});

test.each([
  ["has a slot free", { ...load, machine: { ...machine, active: 5 } }, "0/1"],
  ["is shared with none", load, "0/1"],
  ["is no reason, since the participant is full by itself", { ...load, active: 1, machine }, "1/1"],
])("a machine that %s is not mentioned", (_what, shown, text) => {
  expect(loadColumn(shown)).toBe(text);
});
