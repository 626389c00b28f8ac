import { array, assert, boolean, nat, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { Roster } from "./roster.ts";

class Guest {
  place = -1;
}

function present(roster: Roster<Guest>): Set<Guest> {
  const seen = new Set<Guest>();
  roster.forEach((guest) => seen.add(guest));
  return seen;
}

describe("roster", () => {
  it("holds the members that were added and not removed, like a Set", () => {
    const moves = array(record({ isAdd: boolean(), who: nat({ max: 12 }) }));
    assert(
      property(moves, (moves) => {
        const guests = Array.from({ length: 13 }, () => new Guest());
        const roster = new Roster<Guest>();
        const expected = new Set<Guest>();
        for (const { isAdd, who } of moves) {
          const guest = guests[who] ?? new Guest();
          if (isAdd) {
            roster.add(guest);
            expected.add(guest);
          } else {
            roster.remove(guest);
            expected.delete(guest);
          }
          expect(roster.size).toBe(expected.size);
        }
        expect(present(roster)).toEqual(expected);
      }),
    );
  });

  it("is empty when its last member is removed, for each that waits", async () => {
    const [first, last] = [new Guest(), new Guest()];
    const roster = new Roster<Guest>();
    await roster.emptied();
    roster.add(first);
    roster.add(last);
    const said: string[] = [];
    const waiting = ["one", "other"].map((who) => roster.emptied().then(() => said.push(who)));
    roster.remove(first);
    await Promise.resolve();
    expect(said).toEqual([]);
    roster.remove(last);
    await Promise.all(waiting);
    expect(said).toEqual(["one", "other"]);
  });

  it("visits every remaining member while others are removed", () => {
    const guests = Array.from({ length: 6 }, () => new Guest());
    const roster = new Roster<Guest>();
    for (const guest of guests) roster.add(guest);
    const visited = new Set<Guest>();
    roster.forEach((guest) => {
      visited.add(guest);
      for (const leaving of [guests[0], guests[4]])
        if (leaving !== undefined) roster.remove(leaving);
    });
    for (const guest of present(roster)) expect(visited).toContain(guest);
    expect(roster.size).toBe(4);
  });

  it("allows every member to be removed while visited", () => {
    const roster = new Roster<Guest>();
    for (let count = 0; count < 5; count++) roster.add(new Guest());
    roster.forEach((guest) => roster.remove(guest));
    expect(roster.size).toBe(0);
  });
});
