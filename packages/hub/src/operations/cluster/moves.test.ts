import { expect, test } from "vitest";
import { aParticipant } from "../../domain/room.fixture.ts";
import { Moves } from "./moves.ts";

test("a participant that came from another hub has 5 s to open its tunnel", () => {
  const moves = new Moves();
  const [ada, bob] = [aParticipant({ id: "ada" }), aParticipant({ id: "bob" })];
  moves.expect(ada, 0);
  moves.expect(bob, 1);
  expect(moves.takeOverdue(4_999)).toEqual([]);
  expect(moves.takeOverdue(5_000)).toEqual([ada]);
  moves.end(bob);
  expect(moves.takeOverdue(60_000)).toEqual([]);
});
