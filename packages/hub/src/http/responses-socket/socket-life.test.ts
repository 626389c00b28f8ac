import { expect, test } from "vitest";
import { SocketLife } from "./socket-life.ts";

const limits = { responseSocketMs: 1_000, responseSocketPingMs: 100 };

test("a quiet socket is pinged, and is dead after two pings without a sign of life", () => {
  const life = new SocketLife(limits, 0);
  expect(life.due(100, false)).toBe("nothing");
  expect(life.due(101, false)).toBe("ping");
  expect(life.due(201, false)).toBe("nothing");
  expect(life.due(202, false)).toBe("ping");
  expect(life.due(303, false)).toBe("dead");
});

test("anything that comes in is a sign of life", () => {
  const life = new SocketLife(limits, 0);
  for (let nowMs = 101; nowMs < 1_000; nowMs += 101) {
    expect(life.due(nowMs, false)).toBe("ping");
    life.heard();
  }
});

test("a client that is behind is not taken for dead", () => {
  const life = new SocketLife(limits, 0);
  for (let nowMs = 101; nowMs < 1_000; nowMs += 101) expect(life.due(nowMs, true)).toBe("nothing");
});

test("a socket may serve for exactly as long as it may", () => {
  const life = new SocketLife({ ...limits, responseSocketPingMs: 5_000 }, 50);
  expect(life.due(1_050, false)).toBe("nothing");
  expect(life.due(1_051, false)).toBe("expired");
});
