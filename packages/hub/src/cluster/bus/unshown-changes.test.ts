import { describe, expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import { UnshownChanges } from "./unshown-changes.ts";

const ada = { ...aParticipant({ id: "ada" }), roomCode: "ABC234" };
const view = { participant: { id: "ada" } };
const named = { participantId: "ada", nickname: "Ada" };

function create() {
  const shown: string[] = [];
  const state = { nowMs: 0, isWatched: true };
  const changes = new UnshownChanges({
    nowMs: () => state.nowMs,
    isWatched: () => state.isWatched,
    wallMs: () => 0,
    show: (_roomCode, { name }) => shown.push(name),
  });
  const at = (ms: number) => {
    state.nowMs = ms;
    changes.tick();
    return [...shown];
  };
  return { changes, state, at };
}

describe("a change of a participant of another hub", () => {
  test("is shown when no event has shown it after a second, once", () => {
    const { changes, at } = create();
    changes.learned(ada, "came");
    expect(at(999)).toEqual([]);
    expect(at(1_000)).toEqual(["participant.joined"]);
    expect(at(5_000)).toEqual(["participant.joined"]);
  });

  test("is left to its event", () => {
    const { changes, at } = create();
    changes.learned(ada, "came");
    changes.shown("ABC234", { name: "participant.joined", payload: view });
    changes.learned(ada, "left");
    changes.shown("ABC234", { name: "participant.left", payload: named });
    expect(at(5_000)).toEqual([]);
  });

  test("is not shown again when its event came before its entry", () => {
    const { changes, at, state } = create();
    changes.shown("ABC234", { name: "participant.left", payload: named });
    state.nowMs = 100;
    changes.learned(ada, "left");
    expect(at(5_000)).toEqual([]);
    changes.learned(ada, "came");
    expect(at(6_000)).toEqual(["participant.joined"]);
  });

  test("is shown when the event that came before it was of another one", () => {
    const { changes, at } = create();
    changes.shown("ABC234", { name: "participant.left", payload: named });
    changes.learned(ada, "came");
    expect(at(1_000)).toEqual(["participant.joined"]);
  });

  test("is not shown again when its event came after the entry of one that no event has shown", () => {
    const { changes, at } = create();
    changes.learned(ada, "came");
    changes.shown("ABC234", { name: "participant.left", payload: named });
    changes.learned(ada, "left");
    expect(at(5_000)).toEqual([]);
  });

  test("is one with those before it that no event has shown", () => {
    const { changes, at } = create();
    changes.learned(ada, "came");
    changes.learned(ada, "changed");
    expect(at(1_000)).toEqual(["participant.joined"]);
    changes.learned(ada, "came");
    changes.learned(ada, "left");
    expect(at(5_000)).toEqual(["participant.joined"]);
  });

  test("is shown when the event that came after its entry shows an earlier state", () => {
    const { changes, at } = create();
    const remote = {
      ...{ owner: { hubId: "b", bootId: "1" }, revision: 7, elsewhere: 0, grant: undefined },
      ...{ machine: undefined, machineKey: undefined, hasSecrets: false },
    };
    changes.learned({ ...ada, remote }, "changed");
    const updated = { name: "participant.updated", payload: view } as const;
    changes.shown("ABC234", { ...updated, revision: 6 });
    expect(at(1_000)).toEqual(["participant.updated"]);
    changes.learned({ ...ada, remote }, "changed");
    changes.shown("ABC234", { ...updated, revision: 7 });
    expect(at(5_000)).toEqual(["participant.updated"]);
  });

  test("is nothing to a hub without watchers of its room", () => {
    const { changes, at, state } = create();
    state.isWatched = false;
    changes.learned(ada, "came");
    expect(at(5_000)).toEqual([]);
  });
});
