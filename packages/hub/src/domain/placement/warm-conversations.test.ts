import { crc32 } from "node:zlib";
import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import { aParticipant } from "../room.fixture.ts";
import { type Prompt, WarmConversations } from "./warm-conversations.ts";

const ana = aParticipant({ id: "ana", limit: 2 });
const ben = aParticipant({ id: "ben", limit: 2 });

/** @param turns - a prompt that begins with the turns of another begins with its bytes */
function prompt(...turns: string[]): Prompt {
  const borders = turns.map((_, index) => {
    const beginning = turns.slice(0, index + 1).join("/");
    const key = crc32(beginning);
    return { key, bytes: 1_000 * (index + 1) };
  });
  return { session: undefined, borders, bytes: 1_000 * turns.length + 300 };
}

const named = (session: string, bytes: number): Prompt => ({ session, borders: [], bytes });
const shares = (warm: WarmConversations, of: Prompt, nowMs = 0) =>
  Object.fromEntries([...warm.warmBytes(of, nowMs)].map(([{ id }, bytes]) => [id, bytes]));

test("a conversation that goes on is warm where it was, up to its last turn", () => {
  const warm = new WarmConversations();
  warm.note(ana, prompt("system", "one"), 0);
  expect(shares(warm, prompt("system", "one", "two"))).toEqual({ ana: 2_300 });
  expect(shares(warm, prompt("other", "one"))).toEqual({});
});

test("another conversation with the same system prompt is warm up to there", () => {
  const warm = new WarmConversations();
  warm.note(ana, prompt("system", "one", "two"), 0);
  expect(shares(warm, prompt("system", "else"))).toEqual({ ana: 1_000 });
});

test("a conversation that moved is warm at both, at the last one more", () => {
  const warm = new WarmConversations();
  warm.note(ana, prompt("system", "one"), 0);
  warm.note(ben, prompt("system", "one", "two"), 0);
  expect(shares(warm, prompt("system", "one", "two", "three"))).toEqual({ ana: 2_300, ben: 3_300 });
});

test("a session is one conversation, whatever its prompt begins with", () => {
  const warm = new WarmConversations();
  warm.note(ana, named("s1", 5_000), 0);
  expect(shares(warm, named("s1", 6_000))).toEqual({ ana: 5_000 });
  expect(shares(warm, named("s2", 6_000))).toEqual({});
});

test("is forgotten after 15 minutes, and with its participant", () => {
  const warm = new WarmConversations();
  warm.note(ana, prompt("one"), 0);
  expect(shares(warm, prompt("one"), 900_000)).toEqual({ ana: 1_300 });
  expect(shares(warm, prompt("one"), 900_001)).toEqual({});
  warm.note(ana, prompt("one"), 900_001);
  warm.forget(ana);
  expect(warm.size).toBe(0);
});

test("a participant keeps four conversations per slot, at least eight, the last ones used", () => {
  const warm = new WarmConversations();
  for (let index = 0; index < 9; index++) warm.note(ana, named(`s${index}`, 1_000), index);
  expect(shares(warm, named("s0", 1_000), 9)).toEqual({});
  expect(shares(warm, named("s1", 1_000), 9)).toEqual({ ana: 1_000 });
  const big = aParticipant({ id: "big", limit: 3 });
  for (let index = 0; index < 20; index++) warm.note(big, named(`b${index}`, 1_000), index);
  expect(shares(warm, named("b8", 1_000), 20)).toEqual({ big: 1_000 });
  expect(shares(warm, named("b7", 1_000), 20)).toEqual({});
});

test("any number of sessions leaves 4,096 of them", () => {
  const warm = new WarmConversations();
  const many = Array.from({ length: 5 }, (_, index) =>
    aParticipant({ id: `p${index}`, limit: 256 }),
  );
  for (let index = 0; index < 20_000; index++) {
    warm.note(many[index % many.length] ?? ana, named(`s${index}`, 1_000), 0);
  }
  expect(warm.size).toBe(4_096);
});

test("whatever happens, no share is larger than the prompt, and what is kept is bounded", () => {
  const turns = array(constantFrom("a", "b"), { minLength: 1, maxLength: 5 });
  const step = record({
    who: constantFrom(ana, ben),
    turns,
    at: integer({ min: 0, max: 2_000_000 }),
  });
  assert(
    property(array(step, { maxLength: 60 }), turns, (steps, last) => {
      const warm = new WarmConversations();
      let nowMs = 0;
      for (const one of steps) warm.note(one.who, prompt(...one.turns), (nowMs += one.at / 10));
      expect(warm.size).toBeLessThanOrEqual(16);
      for (const bytes of warm.warmBytes(prompt(...last), nowMs).values()) {
        expect(bytes).toBeGreaterThan(0);
        expect(bytes).toBeLessThanOrEqual(prompt(...last).bytes);
      }
      warm.forget(ana);
      warm.forget(ben);
      expect([...warm.warmBytes(prompt(...last), nowMs)]).toEqual([]);
    }),
  );
});
