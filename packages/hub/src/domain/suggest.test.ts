import { array, assert, property, stringMatching } from "fast-check";
import { expect, test } from "vitest";
import { closest, aliasCommand } from "./suggest.ts";
import { aParticipant, aRoom } from "./room.fixture.ts";

test.each([
  ["lama3", "llama3"],
  ["LLAMA3", "llama3"],
  ["qwen3codr", "qwen3-coder"],
  ["coder", "qwen3-coder"],
  ["x".repeat(100), `${"x".repeat(67)}${"y".repeat(33)}`],
])("%s is near %s", (typed, meant) => {
  expect(closest(typed, ["unlike", meant, "others"])).toBe(meant);
});

test.each([
  ["lama3", "gemma"],
  ["ab", "cab9"],
  ["x".repeat(100), `${"x".repeat(66)}${"y".repeat(34)}`],
])("%s is not near %s", (typed, other) => {
  expect(closest(typed, [other])).toBeUndefined();
});

test("of what is endless the beginning is compared", () => {
  expect(closest(`${"X".repeat(100)}y`.repeat(1_000), ["x".repeat(100)])).toBe("x".repeat(100));
});

test("the nearest of several is meant, and of equally near ones the first", () => {
  expect(closest("llama", ["llamaxy", "lamb", "llana", "lluma"])).toBe("llana");
});

/** By definition, with nothing left out. */
function plainDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line++) {
    const current = [line];
    for (let column = 1; column <= to.length; column++) {
      const replaced = previous[column - 1]! + (from[line - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[to.length]!;
}

test("what is skipped on the way would not have been nearer", () => {
  const word = stringMatching(/^[abc]{3,16}$/);
  assert(
    property(word, array(word, { maxLength: 6 }), (typed, names) => {
      const distances = names.map((name) => plainDistance(typed, name));
      const least = Math.min(...distances, Math.floor(typed.length / 3) + 1);
      const nearest = names[distances.indexOf(least)];
      const expected = least <= Math.floor(typed.length / 3) ? nearest : undefined;
      expect(closest(typed, names)).toBe(expected ?? names.find((name) => name.includes(typed)));
    }),
    { numRuns: 2_000 },
  );
});

const ana = aParticipant({ id: "ana", model: "qwen3-coder:latest" });

test.each([
  ["claude-sonnet-4-5", "roomhub alias ABC234 'claude-*' qwen3-coder"],
  ["gpt-5.1-codex", "roomhub alias ABC234 'gpt-*' qwen3-coder"],
  ["o3", "roomhub alias ABC234 'o3*' qwen3-coder"],
  ["o4-mini", "roomhub alias ABC234 'o4*' qwen3-coder"],
  ["olmo-2", undefined],
  ["llama3", undefined],
  ["Claude-3", undefined],
])("in a room with one model, %s would be served after %s", (name, expected) => {
  const bob = aParticipant({ id: "bob", model: "qwen3-coder" });
  expect(aliasCommand(aRoom(ana, bob), name)).toBe(expected);
});

test("a room with several models, or none, has no such line", () => {
  const other = aParticipant({ id: "bob", model: "llama3" });
  expect(aliasCommand(aRoom(ana, other), "gpt-5")).toBeUndefined();
  expect(aliasCommand(aRoom(), "gpt-5")).toBeUndefined();
});

test("a model whose name would mean something to a shell is not in the line", () => {
  const odd = aParticipant({ id: "ana", model: "x'; rm -rf ~ #" });
  expect(aliasCommand(aRoom(odd), "gpt-5")).toBe("roomhub alias ABC234 'gpt-*' '*'");
});
