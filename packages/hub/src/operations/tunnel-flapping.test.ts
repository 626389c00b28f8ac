import { expect, test } from "vitest";
import { participantView } from "../domain/views.ts";
import { createOffice, home, peerAt, tokenOf } from "./operations.fixture.ts";
import { admitTunnel } from "./tunnel-flapping.ts";

/** Ada has joined and opened as many tunnels as she may. */
async function flappingOffice() {
  const office = createOffice();
  const outcome = await office.join();
  const { participant } = outcome;
  const admit = () => admitTunnel(office.context, participant);
  for (let count = 0; count < 5; count++) admit();
  office.openTunnel(participant);
  office.seen();
  const problem = () => participantView(participant, office.context.nowMs()).connection.problem;
  return { ...office, outcome, participant, admit, problem };
}

const flapping = expect.objectContaining({
  code: "tunnel_flapping",
  message: "A tunnel of ada was refused: more than 5 were opened with its token within 10 s.",
  retryAfterMs: 10_000,
}) as Error;

test("the sixth tunnel within 10 s is refused, and one update says so, however many follow", async () => {
  const { admit, problem, seen, participant } = await flappingOffice();
  expect(problem()).toBeUndefined();
  for (let count = 0; count < 3; count++) expect(admit).toThrow(flapping);
  expect(seen()).toEqual(["participant.updated ada"]);
  expect(problem()).toBe(
    "a tunnel was refused: more than 5 were opened with its token within 10 s, as by two agents that share it",
  );
  expect(participant.tunnel).toMatchObject({ kind: "open", readiness: "ready" });
});

test("what else is wrong with its path stays in the problem", async () => {
  const { admit, problem, participant } = await flappingOffice();
  participant.tunnel = { kind: "open", readiness: "down", problem: "ECONNREFUSED", sinceMs: 0 };
  expect(admit).toThrow(flapping);
  expect(problem()).toMatch(/^not ready: ECONNREFUSED; a tunnel was refused: /);
});

test("the problem ends 10 s after the last refusal, with one update", async () => {
  const { admit, problem, seen, pass } = await flappingOffice();
  expect(admit).toThrow(flapping);
  pass(9_000);
  expect(admit).toThrow(flapping);
  pass(9_999);
  expect(problem()).toBeDefined();
  expect(seen()).toEqual(["participant.updated ada"]);
  pass(1);
  expect(problem()).toBeUndefined();
  expect(seen()).toEqual(["participant.updated ada"]);
  pass(60_000);
  expect(seen()).not.toContain("participant.updated ada");
});

test("the problem ends with the next tunnel, in that tunnel's own update", async () => {
  const { admit, problem, seen, pass, openTunnel, participant } = await flappingOffice();
  pass(9_500);
  expect(admit).toThrow(flapping);
  pass(500);
  admit();
  seen();
  openTunnel(participant);
  expect(problem()).toBeUndefined();
  pass(20_000);
  expect(seen().filter((each) => each.startsWith("participant.updated"))).toHaveLength(1);
});

test("a join with the token keeps its count, a join for a new token begins another", async () => {
  const { admit, join, outcome } = await flappingOffice();
  await join({}, peerAt(home, { token: tokenOf(outcome) }));
  expect(admit).toThrow(flapping);
  await join({}, peerAt(home));
  expect(admit).not.toThrow();
});

test("a participant that left is not announced when its refusals are forgotten", async () => {
  const { admit, context, room, pass, seen, participant } = await flappingOffice();
  expect(admit).toThrow(flapping);
  context.registry.remove(context.registry.room(room), participant);
  seen();
  pass(10_000);
  expect(seen()).toEqual([]);
});
