import { CLOSE_CODES, type HubSession } from "@roomhub/tunnel";
import { expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import { aHubSession } from "./hub-session.fixture.ts";
import { TunnelRegistry } from "./registry.ts";

function createDials() {
  const registry = new TunnelRegistry();
  const closed: string[] = [];
  function dial(participant: ReturnType<typeof aParticipant>, name: string): HubSession {
    const session = aHubSession((code) => {
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

test("a tunnel of a participant that moved is closed, but goes on when this hub stops", async () => {
  const { registry, closed, dial } = createDials();
  const [ada, bob] = [aParticipant({ id: "ada" }), aParticipant({ id: "bob" })];
  registry.promote(ada, dial(ada, "ada's"));
  registry.close(ada, "moved");
  expect(closed).toEqual([`ada's ${CLOSE_CODES.replaced}`]);
  const running = dial(bob, "bob's");
  registry.promote(bob, running);
  registry.goAway("stopping");
  const emptied = registry.emptied();
  registry.close(bob, "moved");
  await emptied;
  expect([closed.length, registry.sessionOf(bob), running.isOpen]).toEqual([1, undefined, true]);
  registry.closeAll("stopped");
  expect(closed[1]).toBe(`bob's ${CLOSE_CODES.goingAway}`);
});
