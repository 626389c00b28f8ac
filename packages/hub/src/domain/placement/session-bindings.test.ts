import { expect, test } from "vitest";
import { aParticipant } from "../room.fixture.ts";
import { SessionBindings } from "./session-bindings.ts";

const ana = aParticipant({ id: "ana" });
const ben = aParticipant({ id: "ben" });

test("a session has the participant it was bound to last, for 15 minutes after its last request", () => {
  const sessions = new SessionBindings();
  sessions.bind("s", ana, 0);
  sessions.bind("s", ben, 1_000);
  expect(sessions.find("s", 901_000)).toBe(ben);
  expect(sessions.find("s", 901_001)).toBeUndefined();
  expect(sessions.find("other", 0)).toBeUndefined();
});

test("of any number of sessions the 4,096 used last are kept", () => {
  const sessions = new SessionBindings();
  for (let index = 0; index < 10_000; index++) {
    sessions.bind(`s${index}`, ana, 0);
    sessions.bind("used", ben, 0);
  }
  expect(sessions.size).toBe(4_096);
  expect(sessions.find("used", 0)).toBe(ben);
  expect(sessions.find("s0", 0)).toBeUndefined();
  expect(sessions.find("s9999", 0)).toBe(ana);
});
