import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aParticipant, aRoom } from "../room.fixture.ts";
import type { Room } from "../room.ts";
import { AliasTable } from "./alias-table.ts";
import { readModelField } from "./model-field.ts";
import { selectorText } from "./select-target.ts";

function roomWith(aliases: Record<string, string[]>): Room {
  const room = aRoom(
    aParticipant({ id: "ana", model: "qwen3-coder" }),
    aParticipant({ id: "bob", model: "llama3:latest", status: "offline" }),
  );
  room.aliases = new AliasTable(
    Object.entries(aliases).map(([pattern, targets]) => ({ pattern, targets, createdAt: 0 })),
  );
  return room;
}

function reading(aliases: Record<string, string[]>, text: string) {
  const { alias, targets } = readModelField(roomWith(aliases), text);
  return [alias, ...targets.map(selectorText)];
}

const everything = { "*": ["bob", "*"], ana: ["bob"], llama3: ["ana"], any: ["ana"] };

describe("a model field", () => {
  test.each([
    ["*", [undefined, "*"]],
    ["any", [undefined, "*"]],
    ["model:claude", [undefined, "model:claude"]],
    ["ana", [undefined, "ana"]],
    ["qwen3-coder", [undefined, "qwen3-coder"]],
    // Offline, and under its name without the tag.
    ["llama3", [undefined, "llama3"]],
    ["bob", [undefined, "bob"]],
    ["gpt-5", ["*", "bob", "*"]],
  ])("%s where everything has an alias means %j", (text, expected) => {
    expect(reading(everything, text)).toEqual(expected);
  });

  test.each<[string, Record<string, string[]>, string[]]>([
    ["in its place", { "gpt-*": ["x", "big", "*"], big: ["ana", "y"] }, ["x", "ana", "y", "*"]],
    ["once", { "gpt-*": ["one", "two"], one: ["c"], two: ["c", "*"], c: ["ana"] }, ["ana", "*"]],
    ["not where a participant has its name", { "gpt-*": ["ana", "*"], ana: ["bob"] }, ["ana", "*"]],
  ])("follows an alias that is a target %s", (_title, aliases, targets) => {
    expect(reading(aliases, "gpt-5")).toEqual(["gpt-*", ...targets]);
  });

  test("ends in a table that another program made, whatever it is", () => {
    const name = fc.constantFrom("a", "b", "c", "*", "x", "ana");
    const pattern = fc.constantFrom("a", "b", "c", "a*", "*");
    const tables = fc.dictionary(pattern, fc.array(name, { maxLength: 16 }));
    fc.assert(
      fc.property(tables, name, (aliases, text) => {
        const most = Object.values(aliases).flat().length;
        const { targets } = readModelField(roomWith(aliases), text);
        expect(targets.length).toBeLessThanOrEqual(Math.max(1, most));
      }),
    );
  });
});
