import { expect, test } from "vitest";
import { Machines } from "../domain/machine.ts";
import { aParticipant } from "../domain/room.fixture.ts";
import { LoadedUpdates } from "./loaded-updates.ts";

/** Two participants in front of one model server. */
function oneMachine() {
  const [ana, ben] = [aParticipant({ id: "ana" }), aParticipant({ id: "ben" })];
  const machines = new Machines();
  for (const each of [ana, ben]) machines.assign(each, "0123456789");
  return { ana, ben, updates: new LoadedUpdates() };
}

test("what a server has loaded holds for all participants in front of it", () => {
  const { ana, ben, updates } = oneMachine();
  updates.report(ana, ["llama3"]);
  expect(ben.loadedModels).toEqual(["llama3"]);
  expect(updates.takeDue(0)).toEqual([ana, ben]);
  updates.report(ben, ["qwen3"]);
  expect(ana.loadedModels).toEqual(["qwen3"]);
});

test("names that are too long for a model are left out", () => {
  const { ana, updates } = oneMachine();
  updates.report(ana, ["x".repeat(257), "llama3", "y".repeat(256)]);
  expect(ana.loadedModels).toEqual(["llama3", "y".repeat(256)]);
});

test("a participant that repeats its report says nothing about what others reported since", () => {
  const { ana, ben, updates } = oneMachine();
  updates.report(ana, ["llama3"]);
  updates.report(ben, ["qwen3"]);
  updates.report(ana, ["llama3"]);
  expect(ana.loadedModels).toEqual(["qwen3"]);
  updates.report(ana, []);
  expect(ben.loadedModels).toEqual([]);
});

test("a participant that has not read the loaded models yet leaves those that others reported", () => {
  const { ana, ben, updates } = oneMachine();
  updates.report(ana, ["llama3"]);
  ben.loadedModels = undefined;
  updates.report(ben, undefined);
  expect(ana.loadedModels).toEqual(["llama3"]);
});

test("a report counts again after the participant moved to another endpoint", () => {
  const ana = aParticipant({ id: "ana" });
  const updates = new LoadedUpdates();
  updates.report(ana, ["llama3"]);
  ana.loadedModels = undefined;
  updates.report(ana, ["llama3"]);
  expect(ana.loadedModels).toEqual(["llama3"]);
});

test("a participant whose server says nothing of loaded models is not announced for it", () => {
  const ana = aParticipant({ id: "ana" });
  const updates = new LoadedUpdates();
  updates.report(ana, undefined);
  expect(updates.takeDue(0)).toEqual([]);
  updates.report(ana, ["llama3"]);
  updates.report(ana, undefined);
  expect(ana.loadedModels).toBeUndefined();
});

test("each participant of a machine is announced at most once in 5 s", () => {
  const { ana, ben, updates } = oneMachine();
  updates.report(ana, []);
  expect(updates.takeDue(0)).toHaveLength(2);
  updates.report(ben, ["llama3"]);
  expect(updates.takeDue(4_999)).toEqual([]);
  expect(updates.takeDue(5_000)).toEqual([ana, ben]);
  updates.report(ana, ["llama3"]);
  expect(updates.takeDue(60_000)).toEqual([]);
});
