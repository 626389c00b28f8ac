import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { isFull } from "../../domain/slots.ts";
import type { Participant } from "../../domain/participant.ts";
import { aParticipant } from "../../domain/room.fixture.ts";
import { type QueueEntry, RoomQueue } from "../queue.ts";

/** A room in which `own` is the owner of every participant. */
function createBench(...participants: Participant[]) {
  const queue = new RoomQueue(1_000);
  const started: { name: string; address: string; at: Participant }[] = [];
  const waiting = new Set<QueueEntry>();
  const send = (name: string, address: string, candidates = participants): QueueEntry => {
    const entry: QueueEntry = {
      address,
      person: "",
      selectionKey: candidates.map(({ id }) => id).join(),
      candidates,
      owned: address === "own" ? candidates.filter(({ id }) => id.startsWith("mine")) : [],
      isHolding: false,
      isBatch: false,
      findCandidates: () => candidates,
      setCandidates: () => undefined,
      tryToLeave(only) {
        const free = candidates.find((one) => !isFull(one) && (only ?? one) === one);
        if (free === undefined) return false;
        free.load.active++;
        waiting.delete(entry);
        started.push({ name, address, at: free });
        return true;
      },
    };
    waiting.add(entry);
    queue.add(entry, false);
    queue.wake();
    return entry;
  };
  const free = (participant: Participant, times = 1) => {
    for (let time = 0; time < times; time++) {
      participant.load.active--;
      queue.wake();
    }
  };
  return { queue, waiting, started, send, free, names: () => started.map(({ name }) => name) };
}

const busy = (id: string, limit = 1) => aParticipant({ id, active: limit, limit });

describe("the owner's requests", () => {
  test("go first, and to every second slot while others wait", () => {
    const mine = busy("mine");
    const { send, free, names } = createBench(mine);
    for (const name of ["a1", "a2", "a3"]) send(name, "a");
    send("b1", "b");
    for (const name of ["own1", "own2", "own3"]) send(name, "own");
    free(mine, 7);
    expect(names()).toEqual(["own1", "a1", "own2", "b1", "own3", "a2", "a3"]);
  });

  test("take every slot that no other can use", () => {
    const [mine, other] = [busy("mine"), busy("other")];
    const { send, free, names } = createBench(mine, other);
    send("a1", "a", [other]);
    for (const name of ["own1", "own2"]) send(name, "own", [mine]);
    free(mine, 2);
    expect(names()).toEqual(["own1", "own2"]);
  });

  test("have no privilege at a participant of someone else", () => {
    const [mine, other] = [busy("mine"), busy("other")];
    const { send, free, names } = createBench(mine, other);
    send("a1", "a");
    send("own1", "own");
    free(other);
    expect(names()).toEqual(["a1"]);
  });

  test("that leave the queue leave the next slot to the others' turns", () => {
    const mine = busy("mine");
    const { queue, send, free, names } = createBench(mine);
    send("a1", "a");
    queue.remove(send("own1", "own"));
    free(mine);
    expect(names()).toEqual(["a1"]);
  });
});

test("whatever comes and frees, no two of the owner's start in a row while others wait, no slot stays free, and all start", () => {
  const step = record({
    kind: constantFrom("send" as const, "send" as const, "free" as const),
    address: constantFrom("own", "own", "a", "b"),
    which: integer({ min: 0, max: 7 }),
  });
  assert(
    property(array(step, { maxLength: 60 }), (steps) => {
      const participants = [busy("mine", 2), busy("mine too"), busy("other")];
      const { waiting, started, send, free } = createBench(...participants);
      const wasOwn = new Map<Participant, boolean>();
      for (const [index, { kind, address, which }] of steps.entries()) {
        const at = participants[which % 3] as Participant;
        if (kind === "send") {
          send(String(index), address, which < 3 ? [at] : participants.filter((one) => one !== at));
          continue;
        }
        if (at.load.active === 0) continue;
        const others = [...waiting].filter((entry) => entry.address !== "own");
        const doOthersWait = others.some((entry) => entry.candidates.includes(at));
        const before = started.length;
        free(at);
        for (const { address: who } of started.slice(before)) {
          const isOwn = who === "own" && at.id !== "other";
          if (isOwn && doOthersWait) expect(wasOwn.get(at) ?? false).toBe(false);
          wasOwn.set(at, isOwn && doOthersWait);
        }
        for (const entry of waiting) expect(entry.candidates.every(isFull)).toBe(true);
      }
      for (let left = 3 * steps.length; left > 0; left--) {
        const at = participants[left % 3] as Participant;
        if (at.load.active > 0) free(at);
      }
      expect([...waiting]).toEqual([]);
    }),
  );
});
