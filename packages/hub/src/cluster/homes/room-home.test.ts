import { describe, expect, test } from "vitest";
import { destination } from "./room-cluster.fixture.ts";
import {
  type HomeInput,
  NO_HOME,
  type RoomHomeState,
  type StoredHome,
  stepHome,
} from "./room-home.ts";

const self = { hubId: "a", bootId: "a1" };
const other = { hubId: "b", bootId: "b1" };
const own: StoredHome = { home: { ...self, epoch: 4 }, revision: 40 };
const newer: StoredHome = { home: { ...other, epoch: 5 }, revision: 50 };
const older: StoredHome = { home: { ...other, epoch: 3 }, revision: 30 };

const states = {
  none: NO_HOME,
  elsewhere: { kind: "elsewhere", stored: older, offer: undefined, seen: 3 },
  offered: {
    kind: "elsewhere",
    stored: older,
    offer: { from: older.home, number: 1 },
    seen: 3,
  },
  taking: { kind: "taking", wanted: own.home, over: older, offer: undefined },
  loading: { kind: "loading", stored: own },
  home: { kind: "home", stored: own, isRestoring: false },
  restoring: { kind: "home", stored: own, isRestoring: true },
  verifying: { kind: "verifying", stored: own, seen: 4 },
  offering: { kind: "offering", stored: own, to: other, offer: 1 },
  giving: { kind: "giving", stored: own, to: other },
} satisfies Record<string, RoomHomeState>;

const inputs = {
  wanted: { kind: "wanted" },
  "own entry read": { kind: "stored", stored: own, isRead: true },
  "own entry watched": { kind: "stored", stored: own, isRead: false },
  "newer entry watched": { kind: "stored", stored: newer, isRead: false },
  "older entry read": { kind: "stored", stored: older, isRead: true },
  "no entry read": { kind: "stored", stored: undefined, isRead: true },
  "own home written": { kind: "written", stored: { home: own.home, revision: 50 } },
  "next home written": { kind: "written", stored: newer },
  refused: { kind: "refused" },
  unanswered: { kind: "unanswered" },
  loaded: { kind: "loaded" },
  suspended: { kind: "suspended" },
  "directory down": { kind: "directoryDown" },
  "directory up": { kind: "directoryUp" },
  release: { kind: "release", to: other, offer: 2 },
  accepted: { kind: "accepted", offer: 1 },
  "earlier offer accepted": { kind: "accepted", offer: 0 },
  declined: { kind: "declined", offer: 1 },
  offered: { kind: "offered", offer: { from: newer.home, number: 2 } },
  "newer epoch": { kind: "newerEpoch", epoch: 9 },
} satisfies Record<string, HomeInput>;

type Outcome = Partial<Record<keyof typeof inputs, string>>;

/** The state that follows, and the commands. What is left out changes nothing. */
const table: Record<keyof typeof states, Outcome> = {
  none: {
    wanted: "taking: write 1 over 0",
    "own entry read": "loading: load",
    "own entry watched": "loading: load",
    "newer entry watched": "elsewhere",
    "older entry read": "elsewhere",
    "no entry read": "elsewhere",
    offered: "elsewhere: accept",
    "newer epoch": "elsewhere: read",
  },
  elsewhere: {
    wanted: "taking: write 4 over 30",
    "own entry read": "loading: load",
    "own entry watched": "loading: load",
    "newer entry watched": "elsewhere",
    "older entry read": "elsewhere",
    "no entry read": "elsewhere",
    offered: "elsewhere: accept",
    "newer epoch": "elsewhere: read",
  },
  offered: {
    wanted: "taking: write 5 over 30",
    "own entry read": "loading: load the snapshot",
    "own entry watched": "loading: load the snapshot",
    "newer entry watched": "elsewhere",
    "older entry read": "elsewhere",
    "no entry read": "elsewhere",
    offered: "elsewhere: accept",
    "newer epoch": "elsewhere: read",
  },
  taking: {
    "own entry read": "loading: load",
    "own entry watched": "loading: load",
    "newer entry watched": "elsewhere",
    "older entry read": "taking: write 4 over 30",
    "no entry read": "elsewhere",
    "own home written": "loading: load",
    refused: "taking: read",
    suspended: "taking: read",
    unanswered: "taking: read",
    "directory up": "taking: read",
    offered: "taking: decline",
  },
  loading: {
    "newer entry watched": "elsewhere: yield",
    loaded: "verifying: read",
    "directory up": "loading: read",
    offered: "loading: decline",
    "newer epoch": "verifying: read",
  },
  home: {
    "newer entry watched": "elsewhere: yield",
    "older entry read": "home: serve, write 4 over 30",
    "no entry read": "home: serve, write 4 over 0",
    refused: "home: read",
    unanswered: "home: read",
    suspended: "verifying: read",
    "directory up": "home: read",
    release: "offering: offer",
    offered: "home: decline",
    "newer epoch": "verifying: read",
    "own home written": "home",
  },
  restoring: {
    "newer entry watched": "elsewhere: yield",
    "older entry read": "home: serve, write 4 over 30",
    "no entry read": "home: serve, write 4 over 0",
    "own entry read": "home",
    "own home written": "home",
    refused: "home: read",
    unanswered: "home: read",
    suspended: "verifying: read",
    "directory up": "home: read",
    offered: "home: decline",
    "newer epoch": "verifying: read",
  },
  verifying: {
    "own entry read": "home: serve",
    "newer entry watched": "elsewhere: yield",
    "older entry read": "home: serve, write 4 over 30",
    "no entry read": "home: serve, write 4 over 0",
    suspended: "verifying: read",
    "directory down": "home: serve",
    "directory up": "verifying: read",
    offered: "verifying: decline",
    "newer epoch": "verifying: read",
  },
  offering: {
    "newer entry watched": "elsewhere: yield",
    "older entry read": "home: serve, write 4 over 30",
    "no entry read": "home: serve, write 4 over 0",
    suspended: "verifying: read",
    "directory up": "offering: read",
    accepted: "giving: write 5 over 40",
    declined: "home: serve",
    offered: "offering: decline",
    "newer epoch": "verifying: read",
  },
  giving: {
    "own entry read": "giving: write 5 over 40",
    "newer entry watched": "elsewhere: notify, yield",
    "older entry read": "home: serve, write 4 over 30",
    "no entry read": "home: serve, write 4 over 0",
    "next home written": "elsewhere: notify, yield",
    refused: "giving: read",
    suspended: "giving: read",
    unanswered: "giving: read",
    "directory up": "giving: read",
    offered: "giving: decline",
  },
};

describe.each(Object.entries(table))("a hub that is %s", (name, outcomes) => {
  test.each(Object.entries(inputs))("follows the table at: %s", (input, value) => {
    const state = states[name as keyof typeof states];
    const { state: next, commands } = stepHome(state, value, self);
    const expected = outcomes[input as keyof typeof inputs] ?? state.kind;
    const text = commands.map((command) => describeCommand(command)).join(", ");
    expect(text === "" ? next.kind : `${next.kind}: ${text}`).toBe(expected);
    if (!(input in outcomes)) expect(next).toEqual(state);
  });
});

function describeCommand(command: ReturnType<typeof stepHome>["commands"][number]): string {
  switch (command.kind) {
    case "write":
      return `write ${command.home.epoch} over ${command.expected}`;
    case "load":
      return command.offer !== undefined ? "load the snapshot" : "load";
    case "answerOffer":
      return command.isAccepted ? "accept" : "decline";
    default:
      return command.kind;
  }
}

test("an offer that arrives after a later one of the same home is declined", () => {
  const from = older.home;
  const first = stepHome(states.elsewhere, { kind: "offered", offer: { from, number: 2 } }, self);
  const late = stepHome(first.state, { kind: "offered", offer: { from, number: 1 } }, self);
  expect(late.commands).toEqual([{ kind: "answerOffer", isAccepted: false }]);
  expect(late.state).toEqual(first.state);
});

test("a snapshot does not outlive the home that offered it", () => {
  const gone = stepHome(
    states.offered,
    { kind: "stored", stored: newer, isRead: false },
    self,
  ).state;
  const named: StoredHome = { home: { ...self, epoch: 6 }, revision: 60 };
  const { commands } = stepHome(gone, { kind: "stored", stored: named, isRead: false }, self);
  expect(commands).toEqual([{ kind: "load", offer: undefined }]);
});

test("a hub that takes a room which was offered to it is not taken for one that got the snapshot", () => {
  const offer = { from: older.home, number: 1 };
  const taking = stepHome(states.offered, { kind: "wanted" }, self).state;
  expect(taking).toMatchObject({ wanted: { epoch: older.home.epoch + 2 }, offer });
  // The home was faster.
  const given: StoredHome = { home: { ...self, epoch: 4 }, revision: 40 };
  const { commands } = stepHome(taking, { kind: "stored", stored: given, isRead: false }, self);
  expect(commands).toEqual([{ kind: "load", offer }]);
  // This hub was: the home does not confirm what the snapshot alone has.
  const taken: StoredHome = { home: { ...other, epoch: 6 }, revision: 50 };
  const late = stepHome(states.giving, { kind: "stored", stored: taken, isRead: false }, self);
  expect(late.commands.map(({ kind }) => kind)).toEqual(["yield"]);
});

test("a home whose epoch the directory has lost takes an epoch above the one that was seen", () => {
  const verifying = stepHome(states.home, { kind: "newerEpoch", epoch: 9 }, self).state;
  const { state, commands } = stepHome(
    verifying,
    { kind: "stored", stored: own, isRead: true },
    self,
  );
  expect(commands).toEqual([{ kind: "write", home: { ...self, epoch: 10 }, expected: 40 }]);
  expect(state.kind).toBe("taking");
});

test("a home that looks at the directory begins no second look for the same epoch", () => {
  const first = stepHome(states.home, { kind: "newerEpoch", epoch: 9 }, self);
  expect(first.commands).toEqual([{ kind: "read" }]);
  expect(stepHome(first.state, { kind: "newerEpoch", epoch: 9 }, self).commands).toEqual([]);
  expect(stepHome(first.state, { kind: "newerEpoch", epoch: 10 }, self).commands).toHaveLength(1);
});

test("a late report of an entry with a lower epoch changes nothing", () => {
  for (const state of [states.loading, states.verifying, states.giving]) {
    const step = stepHome(state, { kind: "stored", stored: older, isRead: false }, self);
    expect(step).toEqual({ state, commands: [] });
  }
});

test("a home that hears of a lower epoch looks whether the directory has lost its own", () => {
  const { state, commands } = stepHome(
    states.home,
    { kind: "stored", stored: older, isRead: false },
    self,
  );
  expect(state).toEqual(states.home);
  expect(commands).toEqual([{ kind: "read" }]);
});

test("requests wait for a home unless it is known", () => {
  const places = Object.entries(states).map(([name, state]) => [name, destination(state)]);
  expect(Object.fromEntries(places)).toEqual({
    none: "wait",
    elsewhere: "home",
    offered: "home",
    taking: "wait",
    loading: "wait",
    home: "here",
    restoring: "here",
    verifying: "wait",
    offering: "wait",
    giving: "wait",
  });
});
