import { describe, expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import type { BusMessage } from "./bus-message.ts";
import { EventBridge } from "./event-bridge.ts";

const roomCode = "ABC234";
const timestamp = "2030-01-01T00:00:00.000Z";

function createBridge() {
  const sent: BusMessage[] = [];
  const shown: string[] = [];
  const listeners = new Map<string | undefined, (message: BusMessage) => void>();
  const state = { nowMs: 0, revision: 0, isWatchedElsewhere: true };
  const bridge = new EventBridge({
    bootId: "boot-a",
    directory: {
      publish: (_code, message) => void sent.push(structuredClone(message)),
      subscribe(code, onMessage) {
        listeners.set(code, onMessage);
        return () => listeners.delete(code);
      },
    },
    nowMs: () => state.nowMs,
    wallMs: () => 0,
    isWatchedElsewhere: () => state.isWatchedElsewhere,
    revisionOf: () => state.revision,
    show: (_code, { name, payload }) => void shown.push(`${name} ${JSON.stringify(payload)}`),
    skip: (_code, count) => void shown.push(`${count} missed`),
  });
  return {
    ...{ bridge, sent, shown, listeners, state },
    receive(sequence: number, more: Partial<BusMessage> = {}): void {
      const message: BusMessage = {
        ...{ origin: "boot-b", sequence, roomCode, name: "llm.request", timestamp },
        ...{ payload: { n: sequence }, ...more },
      };
      for (const listener of listeners.values()) listener(message);
    },
    publish: (n: number, revision?: number | Promise<number | undefined>) =>
      bridge.publish(
        roomCode,
        "participant.updated",
        timestamp,
        { n },
        revision === undefined ? undefined : () => ({ participantId: "ada", revision }),
      ),
  };
}

describe("events of this hub", () => {
  test("are numbered per room, and sent at once when their entry is stored", () => {
    const { publish, sent } = createBridge();
    publish(1);
    publish(2, 17);
    expect(sent.map(({ sequence, payload, revision }) => [sequence, payload, revision])).toEqual([
      [1, { n: 1 }, undefined],
      [2, { n: 2 }, 17],
    ]);
  });

  test("are only counted while no other hub watches the room", () => {
    const { state, publish, sent } = createBridge();
    state.isWatchedElsewhere = false;
    publish(1);
    state.isWatchedElsewhere = true;
    publish(2);
    expect(sent.map(({ sequence }) => sequence)).toEqual([2]);
  });

  test("keep their order while one waits for its entry to be stored", async () => {
    const { publish, sent } = createBridge();
    const stored = Promise.withResolvers<number>();
    publish(1, stored.promise);
    publish(2);
    expect(sent).toEqual([]);
    stored.resolve(5);
    await new Promise(setImmediate);
    expect(sent.map(({ sequence, revision }) => [sequence, revision])).toEqual([
      [1, 5],
      [2, undefined],
    ]);
  });

  test("show what was so when they happened, though they are sent later", async () => {
    const { bridge, sent } = createBridge();
    const stored = Promise.withResolvers<number>();
    const payload = { limit: 1 };
    bridge.publish(roomCode, "participant.updated", timestamp, payload, () => ({
      ...{ participantId: "ada", revision: stored.promise },
    }));
    payload.limit = 2;
    stored.resolve(1);
    await new Promise(setImmediate);
    expect(sent.map(({ payload }) => payload)).toEqual([{ limit: 1 }]);
  });
});

test("an event of this hub that comes back to it over the bus is not shown again", () => {
  const world = createBridge();
  world.bridge.watch(roomCode);
  world.receive(1, { origin: "boot-a" });
  expect(world.shown).toEqual([]);
});

describe("events of another hub", () => {
  test("are shown once, though a hub watches the room and all rooms", () => {
    const lab = createBridge();
    lab.bridge.watch(roomCode);
    lab.bridge.watch(undefined);
    lab.receive(1);
    lab.receive(2);
    expect(lab.shown).toEqual(['llm.request {"n":1}', 'llm.request {"n":2}']);
  });

  test("count as missed when their numbers say so, but not those from before", () => {
    const lab = createBridge();
    lab.bridge.watch(roomCode);
    lab.receive(7);
    lab.receive(10);
    expect(lab.shown).toEqual(['llm.request {"n":7}', "2 missed", 'llm.request {"n":10}']);
  });

  test("wait for the entry that they show, and those behind them wait too", () => {
    const lab = createBridge();
    lab.bridge.watch(roomCode);
    lab.receive(1, { participantId: "ada", revision: 5 });
    lab.receive(2);
    expect(lab.shown).toEqual([]);
    lab.state.revision = 5;
    lab.bridge.release(roomCode);
    expect(lab.shown).toHaveLength(2);
  });

  test("wait for it a second at most", () => {
    const lab = createBridge();
    lab.bridge.watch(roomCode);
    lab.receive(1, { participantId: "ada", revision: 5 });
    lab.state.nowMs = 999;
    lab.bridge.tick();
    expect(lab.shown).toEqual([]);
    lab.state.nowMs = 1_000;
    lab.bridge.tick();
    expect(lab.shown).toHaveLength(1);
  });

  test("do not wait for events of a third hub", () => {
    const lab = createBridge();
    lab.bridge.watch(roomCode);
    lab.receive(1, { participantId: "ada", revision: 5 });
    lab.receive(1, { origin: "boot-c" });
    expect(lab.shown).toEqual(['llm.request {"n":1}']);
  });

  test("are not received once the last watcher has left", () => {
    const lab = createBridge();
    lab.bridge.watch(roomCode);
    lab.bridge.unwatch(roomCode);
    expect(lab.listeners.size).toBe(0);
  });
});

test("what this hub announces of a dead hub's participant is not shown once more", () => {
  const { bridge, shown, state } = createBridge();
  bridge.watch(roomCode);
  const participant = { ...aParticipant({ id: "ada" }), roomCode };
  bridge.learned(participant, "changed");
  bridge.publish(roomCode, "participant.updated", timestamp, { participant: { id: "ada" } });
  state.nowMs = 2_000;
  bridge.tick();
  expect(shown).toEqual([]);
});
