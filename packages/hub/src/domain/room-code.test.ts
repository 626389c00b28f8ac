import { ROOM_CODE_ALPHABET } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { unusedRoomCode } from "./room-code.ts";

/** A repeatable stand-in for the system's randomness (mulberry32). */
function seeded(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

test("a code is 6 characters that cannot be taken for another", () => {
  const code = unusedRoomCode(() => false, seeded(1));
  expect(code).toMatch(/^[2-9A-HJKMNP-Z]{6}$/);
  expect(ROOM_CODE_ALPHABET).not.toMatch(/[-_0O1IL]/);
  expect(new Set(ROOM_CODE_ALPHABET).size).toBe(31);
});

test("a code in use is drawn again", () => {
  const draws = Array.from("AAAAAAAAAAAABBBBBB", (letter) => ROOM_CODE_ALPHABET.indexOf(letter));
  const used = new Set(["AAAAAA"]);
  const code = unusedRoomCode(
    (one) => used.has(one),
    () => draws.shift() ?? 0,
  );
  expect(code).toBe("BBBBBB");
});

test("20,000 codes repeat nowhere and use every character about as often in every place", () => {
  const random = seeded(42);
  const codes = new Set<string>();
  const total = 20_000;
  for (let index = 0; index < total; index++) {
    codes.add(unusedRoomCode((code) => codes.has(code), random));
  }
  expect(codes.size).toBe(total);
  for (let place = 0; place < 6; place++) {
    const counts = new Map<string, number>();
    for (const code of codes)
      counts.set(code[place] ?? "", (counts.get(code[place] ?? "") ?? 0) + 1);
    const expected = total / ROOM_CODE_ALPHABET.length;
    let chiSquare = 0;
    for (const letter of ROOM_CODE_ALPHABET) {
      chiSquare += ((counts.get(letter) ?? 0) - expected) ** 2 / expected;
    }
    // 30 degrees of freedom: beyond 59.7 once in a thousand.
    expect(chiSquare, `place ${place}`).toBeLessThan(59.7);
  }
});
