import { array, assert, boolean, constantFrom, double, nat, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  backoffMs,
  type ChartInputs,
  type ConnectionEvent,
  type ConnectionState,
  nextState,
} from "./connection-chart.ts";

type Kind = ConnectionState["kind"];
type EventType = ConnectionEvent["type"];

const inputs: ChartInputs = {
  nowMs: 100_000,
  random: 0.5,
  backoffBaseMs: 250,
  backoffMaxMs: 15_000,
  stableMs: 30_000,
  hasOtherHubs: false,
  hasHome: false,
  hasWaitingStreams: false,
};
const stop = { code: "invalid_password", reason: "wrong" };

const states: Record<Kind, ConnectionState> = {
  idle: { kind: "idle" },
  joining: { kind: "joining", failures: 2, isMoving: false },
  dialling: { kind: "dialling", failures: 2, isRedial: false },
  waiting: { kind: "waiting", failures: 2, untilMs: 100_000, next: "dialling" },
  connected: { kind: "connected", failures: 2, sinceMs: 99_000 },
  stopped: { kind: "stopped", stop },
};
const events: Record<EventType, ConnectionEvent> = {
  start: { type: "start" },
  joined: { type: "joined" },
  opened: { type: "opened" },
  resumed: { type: "resumed" },
  failed: { type: "failed" },
  forgotten: { type: "forgotten" },
  dismissed: { type: "dismissed" },
  due: { type: "due" },
  woke: { type: "woke" },
  refused: { type: "refused", stop },
  close: { type: "close" },
};

const ends = { refused: "stopped", close: "stopped" } as const;
const table: Record<Kind, Record<EventType, Kind>> = {
  idle: {
    start: "joining",
    joined: "idle",
    opened: "idle",
    resumed: "idle",
    failed: "idle",
    forgotten: "idle",
    dismissed: "idle",
    due: "idle",
    woke: "idle",
    ...ends,
  },
  joining: {
    start: "joining",
    joined: "dialling",
    opened: "joining",
    resumed: "joining",
    failed: "waiting",
    forgotten: "joining",
    dismissed: "joining",
    due: "joining",
    woke: "joining",
    ...ends,
  },
  dialling: {
    start: "dialling",
    joined: "dialling",
    opened: "connected",
    resumed: "connected",
    failed: "waiting",
    forgotten: "waiting",
    dismissed: "dialling",
    due: "dialling",
    woke: "dialling",
    ...ends,
  },
  waiting: {
    start: "waiting",
    joined: "waiting",
    opened: "waiting",
    resumed: "waiting",
    failed: "waiting",
    forgotten: "waiting",
    dismissed: "waiting",
    due: "dialling",
    woke: "dialling",
    ...ends,
  },
  connected: {
    start: "connected",
    joined: "connected",
    opened: "connected",
    resumed: "connected",
    failed: "waiting",
    forgotten: "waiting",
    dismissed: "connected",
    due: "connected",
    woke: "connected",
    ...ends,
  },
  stopped: {
    start: "stopped",
    joined: "stopped",
    opened: "stopped",
    resumed: "stopped",
    failed: "stopped",
    forgotten: "stopped",
    dismissed: "stopped",
    due: "stopped",
    woke: "stopped",
    refused: "stopped",
    close: "stopped",
  },
};

for (const kind of Object.keys(table) as Kind[]) {
  test(`from ${kind}, each event leads where the table says`, () => {
    const found = Object.fromEntries(
      Object.values(events).map((event) => [
        event.type,
        nextState(states[kind], event, inputs).kind,
      ]),
    );
    expect(found).toEqual(table[kind]);
  });
}

test("a failed join or dial is retried with backoff", () => {
  const joining = nextState(
    { kind: "joining", failures: 0, isMoving: false },
    events.failed,
    inputs,
  );
  expect(joining).toEqual({ kind: "waiting", failures: 1, untilMs: 100_125, next: "joining" });
  const dialling = nextState(states.dialling, events.failed, inputs);
  expect(dialling).toEqual({ kind: "waiting", failures: 3, untilMs: 100_500, next: "dialling" });
});

test("retry-after is honoured up to a minute", () => {
  const exchange = (retryAfterMs: number) =>
    nextState(
      { kind: "joining", failures: 0, isMoving: false },
      { type: "failed", retryAfterMs },
      inputs,
    );
  expect(exchange(2_000)).toMatchObject({ untilMs: 102_125 });
  expect(exchange(9_999_999)).toMatchObject({ untilMs: 160_125 });
});

test("a tunnel open for 30 s resets the backoff, a millisecond less does not", () => {
  const lost = (sinceMs: number) =>
    nextState({ kind: "connected", failures: 4, sinceMs }, events.failed, inputs);
  expect(lost(70_000)).toMatchObject({ failures: 1, untilMs: 100_125 });
  expect(lost(70_001)).toMatchObject({ failures: 5, untilMs: 102_000 });
});

test("a forgotten participant joins again at once, and with backoff if forgotten again", () => {
  const first = nextState(
    { kind: "dialling", failures: 0, isRedial: false },
    events.forgotten,
    inputs,
  );
  expect(first).toEqual({ kind: "joining", failures: 1, isMoving: false });
  const second = nextState(
    { kind: "dialling", failures: 1, isRedial: false },
    events.forgotten,
    inputs,
  );
  expect(second).toMatchObject({ kind: "waiting", next: "joining" });
  expect(nextState(states.waiting, events.forgotten, inputs)).toMatchObject({ next: "joining" });
});

test("a redial to a restarted hub joins at once, however long the hub was down", () => {
  const redial = nextState(states.waiting, events.due, inputs);
  expect(redial).toEqual({ kind: "dialling", failures: 2, isRedial: true });
  const again = nextState(redial, events.forgotten, inputs);
  expect(again).toEqual({ kind: "joining", failures: 3, isMoving: false });
});

describe("while streams wait", () => {
  const waited = { ...inputs, hasWaitingStreams: true };

  test("the first dial follows within 100 ms, the others within a second", () => {
    const last = { ...waited, random: 0.999 };
    const broken = nextState(states.connected, events.failed, last);
    expect(broken).toMatchObject({ next: "dialling", untilMs: 100_099.9 });
    const again = (failures: number) =>
      nextState({ kind: "dialling", failures, isRedial: true }, events.failed, last);
    expect(again(1)).toMatchObject({ untilMs: 100_499.5 });
    expect(again(2)).toMatchObject({ untilMs: 100_999 });
    expect(again(50)).toMatchObject({ failures: 51, untilMs: 100_999 });
  });

  test("the hub's retry-after is honoured", () => {
    const failed: ConnectionEvent = { type: "failed", retryAfterMs: 2_000 };
    expect(nextState(states.dialling, failed, waited)).toMatchObject({ untilMs: 102_500 });
  });

  test("a resume counts as if nothing had failed", () => {
    const resumed = nextState(states.dialling, events.resumed, inputs);
    expect(resumed).toEqual({ kind: "connected", failures: 0, sinceMs: 100_000 });
    expect(nextState(resumed, events.failed, waited)).toMatchObject({ failures: 1 });
  });
});

describe("in a cluster", () => {
  const clustered = { ...inputs, hasOtherHubs: true };
  const after = (state: ConnectionState, event: ConnectionEvent) =>
    nextState(state, event, clustered);

  test("a broken tunnel is dialled where it was, and then the participant joins at another hub", () => {
    const lost = after(states.connected, events.failed);
    expect(lost).toMatchObject({ kind: "waiting", next: "dialling" });
    const redial = after({ ...lost, untilMs: 0 } as ConnectionState, events.due);
    const failed = after(redial, { type: "failed", retryAfterMs: 60_000 });
    expect(failed).toMatchObject({ kind: "waiting", next: "moving", untilMs: 101_000 });
    const moved = after({ ...failed, untilMs: 0 } as ConnectionState, events.due);
    expect(moved).toMatchObject({ kind: "joining", isMoving: true });
    expect(after(moved, events.failed)).toMatchObject({ next: "moving" });
  });

  test("a hub that stops is left at once", () => {
    expect(after(states.connected, events.dismissed)).toEqual({
      ...{ kind: "joining", failures: 0, isMoving: true },
    });
  });

  test("while streams wait, the others take turns with the hub that has them", () => {
    const waited = { ...clustered, hasWaitingStreams: true };
    const failed = nextState(states.dialling, events.failed, waited);
    expect(failed).toMatchObject({ next: "moving" });
    const joining: ConnectionState = { kind: "joining", failures: 3, isMoving: true };
    expect(nextState(joining, events.failed, waited)).toMatchObject({ next: "dialling" });
  });

  test("a hub that has forgotten the participant is joined again", () => {
    const again = after({ kind: "dialling", failures: 0, isRedial: true }, events.forgotten);
    expect(again).toMatchObject({ kind: "joining", isMoving: false });
  });
});

describe("where rooms have homes", () => {
  const homed = { ...inputs, hasHome: true, hasOtherHubs: true };
  const stale: ConnectionEvent = { type: "failed", isStale: true };

  test("a participant follows the home at once, and is dialled as often as before", () => {
    expect(nextState(states.connected, events.dismissed, homed)).toEqual({
      ...{ kind: "dialling", failures: 2, isRedial: true },
    });
    const alone = { ...homed, hasOtherHubs: false };
    expect(nextState(states.connected, events.dismissed, alone).kind).toBe("dialling");
  });

  test("hubs that send a participant on within a second are dialled with backoff", () => {
    const connected = (sinceMs: number): ConnectionState =>
      ({ ...states.connected, sinceMs }) as ConnectionState;
    expect(nextState(connected(99_000), events.dismissed, homed).kind).toBe("dialling");
    expect(nextState(connected(99_001), events.dismissed, homed)).toEqual({
      ...{ kind: "waiting", failures: 3, untilMs: 100_500, next: "dialling" },
    });
  });

  test("after a home that was replaced, the address that was given is dialled, and then another hub is joined", () => {
    const given = { kind: "waiting", failures: 3, untilMs: 100_500, next: "dialling" };
    expect(nextState(states.joining, stale, homed)).toEqual(given);
    expect(nextState(states.dialling, stale, homed)).toEqual(given);
    const redial = { ...states.dialling, isRedial: true } as ConnectionState;
    expect(nextState(redial, stale, homed)).toMatchObject({ next: "moving" });
    expect(nextState(redial, stale, { ...homed, hasOtherHubs: false })).toEqual(given);
  });
});

test("a wait does not end early", () => {
  expect(nextState(states.waiting, events.due, { ...inputs, nowMs: 99_999 })).toBe(states.waiting);
});

test("the backoff doubles from 250 ms to 15 s, with full jitter", () => {
  const bounds = [0, 1, 2, 5, 6, 50, 5_000].map((failures) =>
    backoffMs(failures, { ...inputs, random: 1 }),
  );
  expect(bounds).toEqual([250, 500, 1_000, 8_000, 15_000, 15_000, 15_000]);
  expect(backoffMs(3, { ...inputs, random: 0 })).toBe(0);
});

test("no sequence of events leaves stopped or exceeds the longest wait", () => {
  const anyEvent = constantFrom(...Object.values(events));
  const anyStep = record({
    event: anyEvent,
    passMs: nat(60_000),
    random: double({ min: 0, max: 0.99, noNaN: true }),
    hasOtherHubs: boolean(),
    hasHome: boolean(),
    hasWaitingStreams: boolean(),
  });
  assert(
    property(array(anyStep, { maxLength: 60 }), (steps) => {
      let state: ConnectionState = states.idle;
      let nowMs = 0;
      let hasStopped = false;
      for (const { event, passMs, ...over } of steps) {
        nowMs += passMs;
        state = nextState(state, event, { ...inputs, nowMs, ...over });
        hasStopped ||= event.type === "refused" || event.type === "close";
        expect(state.kind === "stopped").toBe(hasStopped);
        if (state.kind === "waiting") expect(state.untilMs - nowMs).toBeLessThanOrEqual(15_000);
      }
    }),
  );
});
