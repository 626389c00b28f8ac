import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VersionedMap } from "./versioned-map.ts";

const change = fc.record({
  /** which version is changed: 0 the newest, 1 the one before … */
  back: fc.nat({ max: 3 }),
  key: fc.constantFrom("a", "b", "c", "d"),
  value: fc.option(fc.nat(), { nil: undefined }),
});

test("every version reads as a copied map would, in any order of changes and readings", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), fc.array(fc.nat()), (changes, readings) => {
      const versions = [VersionedMap.from(new Map([["a", -1]]))];
      const copies = [new Map([["a", -1]])];
      for (const { back, key, value } of changes) {
        const index = Math.max(0, versions.length - 1 - back);
        const [version, copy] = [versions[index], new Map(copies[index])];
        if (version === undefined) throw new Error("unreachable");
        versions.push(value === undefined ? version.without(key) : version.with(key, value));
        if (value === undefined) copy.delete(key);
        else copy.set(key, value);
        copies.push(copy);
      }
      const order = [...readings.map((reading) => reading % versions.length), ...versions.keys()];
      for (const index of order) {
        const [version, copy] = [versions[index], copies[index]];
        for (const key of ["a", "b", "c", "d"]) {
          expect(version?.get(key)).toBe(copy?.get(key));
          expect(version?.has(key)).toBe(copy?.has(key));
        }
        expect(version?.size).toBe(copy?.size);
        expect([...(version ?? [])]).toEqual([...(copy ?? [])]);
      }
    }),
  );
});

test("a version that is kept for long keeps its entries through thousands of changes", () => {
  const first = VersionedMap.from(new Map([["a", 0]]));
  let newest = first;
  const kept: [number, VersionedMap<number>][] = [];
  for (let n = 1; n <= 5_000; n++) {
    newest = newest
      .with("a", n)
      .with(`k${n}`, n)
      .without(`k${n - 1}`);
    if (n % 500 === 0) kept.push([n, newest]);
  }
  expect([...first]).toEqual([["a", 0]]);
  for (const [n, version] of kept) {
    expect([...version]).toEqual([
      ["a", n],
      [`k${n}`, n],
    ]);
  }
});

test("a change of many entries costs what one of few costs", () => {
  const timeOf = (size: number) => {
    let map = VersionedMap.from(
      new Map(Array.from({ length: size }, (_, index) => [`k${index}`, 0])),
    );
    const startMs = performance.now();
    for (let n = 0; n < 2_000; n++) map = map.with("k0", n);
    return performance.now() - startMs;
  };
  timeOf(10);
  // Copies would make it 500 times as slow; the generous limit is for a busy machine.
  expect(timeOf(20_000)).toBeLessThan(20 * timeOf(40) + 100);
});

test("a map without the entry to remove stays the same", () => {
  const map = VersionedMap.from(new Map([["a", 1]]));
  expect(map.without("b")).toBe(map);
  expect(VersionedMap.from(map)).toBe(map);
});
