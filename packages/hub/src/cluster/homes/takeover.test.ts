import { describe, expect, test } from "vitest";
import { rankHubs, Takeover } from "./takeover.ts";

const [a, b, c] = ["a", "b", "c"].map((name) => ({ hubId: name, bootId: `${name}1` }));
if (a === undefined || b === undefined || c === undefined) throw new Error("three hubs");

describe("the rank of hubs", () => {
  test("is the same in whatever order they are known", () => {
    for (const code of ["R1", "R2", "R3", "R4"])
      expect(rankHubs(code, [a, b, c], undefined)).toEqual(rankHubs(code, [c, a, b], undefined));
  });

  test("changes for no room by a hub that others are ranked before", () => {
    for (let n = 0; n < 100; n += 1) {
      const all = rankHubs(`R${n}`, [a, b, c], undefined);
      const without = rankHubs(`R${n}`, [a, b], undefined);
      expect(all.filter((hub) => hub !== c)).toEqual(without);
    }
  });

  test("spreads the rooms evenly", () => {
    const firsts = Array.from(
      { length: 300 },
      (_, n) => rankHubs(`R${n}`, [a, b, c], undefined)[0],
    );
    for (const hub of [a, b, c])
      expect(Math.abs(firsts.filter((one) => one === hub).length - 100)).toBeLessThan(30);
  });

  test("begins with the next life of the dead home", () => {
    for (let n = 0; n < 20; n += 1) expect(rankHubs(`R${n}`, [a, b, c], "b")[0]).toBe(b);
  });
});

describe("a room that something waits for", () => {
  test("is asked of one hub after the other, 2 s each, until it is this hub's turn", () => {
    const takeover = new Takeover(4, 0);
    const next = (nowMs: number) => takeover.next([a, b, c], c, nowMs);
    expect(next(0)).toEqual({ kind: "ask", hub: a });
    expect([next(0), next(1_999)]).toEqual([undefined, undefined]);
    expect(next(2_000)).toEqual({ kind: "ask", hub: b });
    expect([next(2_000), next(3_999)]).toEqual([undefined, undefined]);
    expect(next(4_000)).toEqual({ kind: "take" });
  });

  test("is asked of the first again when none of them has taken it", () => {
    const takeover = new Takeover(4, 0);
    const next = (nowMs: number) => takeover.next([a, b], c, nowMs);
    expect([next(0), next(2_000), next(3_999)]).toEqual([
      { kind: "ask", hub: a },
      { kind: "ask", hub: b },
      undefined,
    ]);
    expect(next(4_000)).toEqual({ kind: "ask", hub: a });
  });

  test("waits while there is no hub that can take it", () => {
    expect(new Takeover(4, 0).next([], c, 0)).toBe(undefined);
  });
});
