import { expect, test } from "vitest";
import type { Participant } from "./participant.ts";
import { aParticipant } from "./room.fixture.ts";
import { Trials } from "./trials.ts";

const present = () => true;

function refused(dueMs: number): Participant {
  const trial = { dueMs, nextDelayMs: 1_000 };
  return aParticipant({ id: "ana", credentials: { haveWorked: false, trial } });
}

test("a trial is due once, and the next one again", () => {
  const trials = new Trials();
  const ana = refused(100);
  trials.note(ana);
  expect(trials.takeDue(99, present)).toEqual([]);
  expect(trials.takeDue(100, present)).toEqual([ana]);
  trials.note(ana);
  expect(trials.takeDue(200, present)).toEqual([]);
  ana.learned.credentials.trial!.dueMs = 300;
  expect(trials.takeDue(300, present)).toEqual([ana]);
});

test("no trial is due of a participant that has left, or whose credentials are accepted", () => {
  const trials = new Trials();
  const [left, accepted] = [refused(100), refused(100)];
  for (const one of [left, accepted]) trials.note(one);
  accepted.learned.credentials.trial = undefined;
  expect(trials.takeDue(100, (one) => one !== left)).toEqual([]);
  expect(trials.takeDue(100, present)).toEqual([]);
});
