import { array, assert, boolean, constantFrom, integer, oneof, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { StreamTable } from "./streams.ts";

interface Entry {
  readonly id: number;
}

describe("table of streams", () => {
  it("behaves like a Map under any sequence of additions and removals", () => {
    // Few homes and many ids, so that streams are pushed from their places all the time.
    const id = oneof(integer({ min: 1, max: 40 }), constantFrom(16, 32, 64, 0xffff_fff0));
    const moves = array(record({ isAdd: boolean(), id }), { maxLength: 200 });
    assert(
      property(moves, (moves) => {
        const table = new StreamTable<Entry>();
        const expected = new Map<number, Entry>();
        for (const { isAdd, id } of moves) {
          if (isAdd && !expected.has(id)) {
            const entry = { id };
            table.add(entry);
            expected.set(id, entry);
          }
          if (!isAdd) {
            table.delete(id);
            expected.delete(id);
          }
          expect(table.size).toBe(expected.size);
        }
        for (const { id } of moves) expect(table.get(id)).toBe(expected.get(id));
        expect(new Set(table.values())).toEqual(new Set(expected.values()));
      }),
    );
  });

  it("finds a remaining stream among thousands that are added and removed", () => {
    const table = new StreamTable<Entry>();
    const staying = { id: 7 };
    table.add(staying);
    for (let id = 8; id < 20_000; id++) {
      table.add({ id });
      if (id > 2_000) table.delete(id - 1_000);
      expect(table.get(7)).toBe(staying);
    }
  });

  it("is reusable after a large table was emptied", () => {
    const table = new StreamTable<Entry>();
    for (let id = 1; id <= 5_000; id++) table.add({ id });
    for (let id = 1; id <= 5_000; id++) table.delete(id);
    expect(table.size).toBe(0);
    const next = { id: 5_001 };
    table.add(next);
    expect(table.get(5_001)).toBe(next);
    expect(table.get(1)).toBeUndefined();
  });
});
