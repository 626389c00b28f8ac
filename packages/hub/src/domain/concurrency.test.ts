import { expect, test } from "vitest";
import { nothingReported, updateLimit } from "./concurrency.ts";
import { aParticipant } from "./room.fixture.ts";

const engine = { limit: 4, limitFrom: "engine", elsewhere: 0 } as const;

test.each([
  ["what is declared", { maxConcurrency: 9 }, engine, 9, "declared"],
  ["what the model server reports", {}, engine, 4, "engine"],
  ["what the agent learned", {}, { ...engine, limitFrom: "learned" as const }, 4, "learned"],
  ["at most the hub's own", {}, { ...engine, limit: 999 }, 256, "engine"],
  ["what is assumed", {}, nothingReported, 3, "default"],
] as const)("the limit of a participant is %s", (_what, config, reported, limit, limitFrom) => {
  const participant = aParticipant({ id: "a", config, reported });
  updateLimit(participant, { assumedConcurrency: 3, inFlightPerParticipant: 256 });
  expect(participant).toMatchObject({ limit, limitFrom });
});
