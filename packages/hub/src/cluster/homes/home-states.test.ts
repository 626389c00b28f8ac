import { expect, test } from "vitest";
import { type HomeHooks, HomeStates, type HomeStatesOptions } from "./home-states.ts";
import type { StoredHome } from "./room-home.ts";

const self = { hubId: "a", bootId: "a1" };
const stored: StoredHome = { home: { ...self, epoch: 1 }, revision: 1 };
const newer: StoredHome = { home: { hubId: "b", bootId: "b1", epoch: 2 }, revision: 2 };

function someStates(
  hooks: Partial<HomeHooks>,
  directory: Partial<HomeStatesOptions["directory"]> = {},
) {
  const bugs: string[] = [];
  const states = new HomeStates({
    self,
    directory: {
      isUp: true,
      putHome: async () => 1,
      readHome: async () => stored,
      ...directory,
    },
    hooks: {
      onTaken: async () => undefined,
      onLost: () => undefined,
      onServe: () => undefined,
      offer: async () => true,
      tell: () => undefined,
      ...hooks,
    },
    stepped: () => undefined,
    nowMs: () => 0,
    reportBug: (error) => void bugs.push(String(error)),
  });
  return { states, bugs };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("a room that is lost while it is put back is let go of afterwards", async () => {
  const order: string[] = [];
  let end = () => {};
  const { states } = someStates({
    onTaken: async () => {
      order.push("begins");
      await new Promise<void>((resolve) => (end = resolve));
      order.push("ends");
    },
    onLost: () => void order.push("lost"),
    onServe: () => undefined,
  });
  states.step("R1", { kind: "wanted" });
  await settled();
  states.step("R1", { kind: "stored", stored: newer, isRead: false });
  await settled();
  end();
  await settled();
  expect(order).toEqual(["begins", "ends", "lost"]);
  expect(states.of("R1")).toMatchObject({ kind: "elsewhere", stored: newer });
});

test("a room is served although its registrations cannot be put back for a bug", async () => {
  const { states, bugs } = someStates({
    onTaken: () => Promise.reject(new TypeError("a bug")),
  });
  states.step("R1", { kind: "wanted" });
  await settled();
  expect(states.of("R1").kind).toBe("home");
  expect(bugs).toEqual(["TypeError: a bug"]);
});

test("a room whose entry cannot be read is tried once between two ticks", async () => {
  let writes = 0;
  const { states } = someStates(
    {},
    {
      putHome: async () => {
        writes += 1;
        return undefined;
      },
      readHome: async () => undefined,
    },
  );
  states.step("R1", { kind: "wanted" });
  await settled();
  const before = writes;
  for (let tick = 0; tick < 10; tick += 1) {
    states.retry();
    await settled();
  }
  expect(writes - before).toBeLessThan(25);
});

test("a room that is forgotten takes no memory, and keeps its epochs until then", async () => {
  const { states } = someStates({});
  states.step("R1", { kind: "stored", stored: newer, isRead: false });
  states.step("R1", { kind: "stored", stored: undefined, isRead: true });
  expect(states.of("R1")).toMatchObject({ stored: undefined, seen: 2 });
  states.forget("R1");
  expect(states.of("R1")).toBe(states.of("never seen"));
});
