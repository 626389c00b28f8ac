import { CLOSE_CODES, type RequesterSession } from "@roomhub/tunnel";
import { expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import { aRequesterSession } from "./requester-session.fixture.ts";
import { TunnelRegistry } from "./registry.ts";

function createDials() {
  const registry = new TunnelRegistry();
  const closed: string[] = [];
  function dial(participant: ReturnType<typeof aParticipant>, name: string): RequesterSession {
    const session = aRequesterSession((code) => {
      closed.push(`${name} ${code}`);
      registry.remove(participant, session);
    });
    registry.addCandidate(participant, session);
    return session;
  }
  return { registry, closed, dial };
}

test("a HELLO closes what the same participant dialled before, so that a late one displaces nothing", () => {
  const { registry, closed, dial } = createDials();
  const [ada, bob] = [aParticipant({ id: "ada" }), aParticipant({ id: "bob" })];
  const givenUp = dial(ada, "given up");
  const others = dial(bob, "bob's");
  const newer = dial(ada, "newer");
  const newest = dial(ada, "newest");
  registry.promote(ada, newer);
  expect(closed).toEqual([`given up ${CLOSE_CODES.replaced}`]);
  registry.promote(ada, givenUp);
  expect(registry.sessionOf(ada)).toBe(newer);
  registry.promote(bob, others);
  registry.promote(ada, newest);
  expect(registry.sessionOf(ada)).toBe(newest);
  expect(registry.sessionOf(bob)).toBe(others);
  expect(closed.slice(1)).toEqual([`newer ${CLOSE_CODES.replaced}`]);
});

test("a tunnel whose room has another home takes nothing more, and what runs in it may finish", () => {
  const { registry, closed, dial } = createDials();
  const [ada, bob] = [aParticipant({ id: "ada" }), aParticipant({ id: "bob" })];
  const running = dial(ada, "ada's");
  registry.promote(ada, running);
  const candidate = dial(ada, "the next");
  expect(candidate.isOpen).toBe(true);
  registry.close(ada, "elsewhere");
  expect(closed).toEqual([`the next ${CLOSE_CODES.goingAway}`]);
  expect([registry.sessionOf(ada), registry.sessionOf(bob), running.isOpen]).toEqual([
    undefined,
    undefined,
    true,
  ]);
  registry.closeAll("stopped");
  expect(closed[1]).toBe(`ada's ${CLOSE_CODES.goingAway}`);
});
