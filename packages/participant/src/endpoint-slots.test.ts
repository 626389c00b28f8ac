import { expect, test } from "vitest";
import { EndpointSlots } from "./endpoint-slots.ts";

const server = "http://127.0.0.1:8080/v1";

test("a model server is full when the rooms of a process take all of its slots together", () => {
  const slots = new EndpointSlots();
  const [one, other] = ["one", "other"].map((room) => slots.open(server, room, () => 2));
  const end = one!.begin(1);
  other!.begin(1);
  expect([one!.isFull(1), other!.isFull(1)]).toEqual([true, true]);
  end();
  end();
  expect(other!.isFull(1)).toBe(false);
});

test("requests of one room alone are counted by its hub, not here", () => {
  const slots = new EndpointSlots();
  const [ana, ben] = [1, 2].map(() => slots.open(server, "one", () => 1));
  ana!.begin(1);
  ben!.begin(1);
  expect([ana!.isFull(1), ben!.isFull(1)]).toEqual([false, false]);
});

test("what runs for the home before counts for the room's home as requests of another room do", () => {
  const slots = new EndpointSlots();
  const [ana, ben] = [1, 2].map(() => slots.open(server, "one", () => 2));
  const end = ana!.begin(3);
  ben!.begin(4);
  expect([ana!.isFull(4), ben!.isFull(4), ben!.isFull(3)]).toEqual([true, true, true]);
  end();
  ben!.begin(4);
  expect(ana!.isFull(4)).toBe(false);
});

test("the largest number that a participant knows of counts; without any, and where servers queue, none is full", () => {
  const slots = new EndpointSlots();
  let known: number | undefined;
  const one = slots.open(server, "one", () => known);
  const other = slots.open(server, "other", () => 2);
  one.begin(1);
  other.begin(1);
  expect(one.isFull(1)).toBe(true);
  known = 3;
  expect(one.isFull(1)).toBe(false);
  other.begin(1);
  expect(one.isFull(1)).toBe(true);
  known = 256;
  expect(one.isFull(1)).toBe(false);
  known = undefined;
  other.close();
  expect(one.isFull(1)).toBe(false);
});

test("model servers are counted apart", () => {
  const slots = new EndpointSlots();
  const one = slots.open(server, "one", () => 1);
  slots.open("http://127.0.0.1:8081/v1", "other", () => 1).begin(1);
  expect(one.isFull(1)).toBe(false);
});
