import { expect, test } from "vitest";
import { BodyBudget } from "../../inference/body-budget.ts";
import { TurnMemory } from "./turn-memory.ts";

const parts = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test("the last turn is remembered under its response's id, and no other", () => {
  const memory = new TurnMemory(new BodyBudget(100), 100);
  expect(memory.remember("resp_1", parts('{"id":1}', "", '{"id":2}'))).toBe(true);
  expect(memory.itemsUpTo("resp_1")?.toString()).toBe('{"id":1},{"id":2}');
  expect(memory.itemsUpTo("resp_2")).toBeUndefined();
  memory.remember("resp_2", parts("{}"));
  expect(memory.itemsUpTo("resp_1")).toBeUndefined();
  expect(memory.itemsUpTo("resp_2")?.toString()).toBe("{}");
});

test("a turn of so many bytes is remembered, one of one more is not", () => {
  const memory = new TurnMemory(new BodyBudget(100), 5);
  expect(memory.remember("a", parts("12345"))).toBe(true);
  expect(memory.remember("b", parts("123456"))).toBe(false);
  expect(memory.itemsUpTo("a")).toBeUndefined();
});

test("what is remembered counts as held until it is forgotten", () => {
  const bodies = new BodyBudget(10);
  const memory = new TurnMemory(bodies, 100);
  memory.remember("a", parts("123"));
  expect(bodies.bytes).toBe(3);
  memory.remember("b", parts("12345"));
  expect(bodies.bytes).toBe(5);
  memory.forget();
  memory.forget();
  expect(bodies.bytes).toBe(0);
});

test("a hub that holds all it may forgets the turn instead of failing", () => {
  const bodies = new BodyBudget(10);
  bodies.hold(8);
  const memory = new TurnMemory(bodies, 100);
  expect(memory.remember("a", parts("123"))).toBe(false);
  expect(memory.itemsUpTo("a")).toBeUndefined();
  expect(bodies.bytes).toBe(8);
});
