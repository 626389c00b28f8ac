import { expect, test } from "vitest";
import { systemWorld } from "./system-world.ts";
import { TurnEnd } from "./turn-end.ts";
import type { Timer } from "./world.ts";

test("what is to be sent leaves at the end of its turn, in order", () => {
  const ends: (() => void)[] = [];
  const setImmediate = (task: () => void): Timer => {
    ends.push(task);
    return {};
  };
  const turnEnd = new TurnEnd({ ...systemWorld, setImmediate });
  const sent: string[] = [];
  const later = { send: () => void sent.push("of the next turn") };
  turnEnd.add({
    send() {
      sent.push("first");
      turnEnd.add(later);
    },
  });
  turnEnd.add({ send: () => void sent.push("second") });
  expect([sent, ends.length]).toEqual([[], 1]);
  ends[0]?.();
  expect([sent, ends.length]).toEqual([["first", "second"], 2]);
  ends[1]?.();
  expect(sent).toEqual(["first", "second", "of the next turn"]);
});
