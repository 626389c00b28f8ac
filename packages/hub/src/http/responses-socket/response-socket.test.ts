import { expect, test } from "vitest";
import { BodyBudget } from "../../inference/body-budget.ts";
import { MessageIntake, SocketLife } from "./response-socket.ts";

const limits = { bodyIdleMs: 30, bodyReadMs: 100 };

function intakeOf(maxBytes: number) {
  const bodies = new BodyBudget(maxBytes);
  return { bodies, intake: new MessageIntake(bodies, limits) };
}

test("bytes on their way count as held until they are a message", () => {
  const { bodies, intake } = intakeOf(100);
  intake.received(40, 0);
  intake.received(60, 1);
  expect(bodies.bytes).toBe(100);
  expect(() => intake.received(1, 2)).toThrow("ROOMHUB_HELD_BODY_BYTES");
  intake.hadMessage();
  expect(bodies.bytes).toBe(0);
});

test("a pong is no beginning of a message", () => {
  const { bodies, intake } = intakeOf(100);
  intake.received(6 + 4, 0);
  intake.hadControlFrame(4);
  expect(bodies.bytes).toBe(0);
  expect(intake.overdue(1_000)).toBeUndefined();
});

test("a pong in the middle of a message leaves the message counted", () => {
  const { bodies, intake } = intakeOf(100);
  intake.received(50 + 6, 0);
  intake.hadControlFrame(0);
  expect(bodies.bytes).toBe(50);
});

test("a message may pause as long as a body, and not longer", () => {
  const { intake } = intakeOf(100);
  intake.received(1, 0);
  expect(intake.overdue(30)).toBeUndefined();
  expect(intake.overdue(31)?.code).toBe("request_read_timeout");
  intake.received(1, 31);
  expect(intake.overdue(61)).toBeUndefined();
});

test("a message that drips takes as long as a body may, and not longer", () => {
  const { intake } = intakeOf(1_000);
  for (let nowMs = 0; nowMs <= 100; nowMs += 10) intake.received(1, nowMs);
  expect(intake.overdue(100)).toBeUndefined();
  expect(intake.overdue(101)?.code).toBe("request_read_timeout");
  intake.hadMessage();
  intake.received(1, 200);
  expect(intake.overdue(201)).toBeUndefined();
});

const lifeLimits = { responseSocketMs: 1_000, responseSocketPingMs: 100 };

test("a quiet socket is pinged, and is dead after two pings without a sign of life", () => {
  const life = new SocketLife(lifeLimits, 0);
  expect(life.due(100, false)).toBe("nothing");
  expect(life.due(101, false)).toBe("ping");
  expect(life.due(201, false)).toBe("nothing");
  expect(life.due(202, false)).toBe("ping");
  expect(life.due(303, false)).toBe("dead");
});

test("anything that comes in is a sign of life", () => {
  const life = new SocketLife(lifeLimits, 0);
  for (let nowMs = 101; nowMs < 1_000; nowMs += 101) {
    expect(life.due(nowMs, false)).toBe("ping");
    life.hadBytes();
  }
});

test("a client that is behind is not taken for dead", () => {
  const life = new SocketLife(lifeLimits, 0);
  for (let nowMs = 101; nowMs < 1_000; nowMs += 101) expect(life.due(nowMs, true)).toBe("nothing");
});

test("a socket may serve for exactly as long as it may", () => {
  const life = new SocketLife({ ...lifeLimits, responseSocketPingMs: 5_000 }, 50);
  expect(life.due(1_050, false)).toBe("nothing");
  expect(life.due(1_051, false)).toBe("expired");
});
