import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench } from "./dispatch.fixture.ts";

describe.each([1, 2])("with %i slots, behind 50 requests of one address", (limit) => {
  test.each([1, 50])(
    "under %i names, a request of another address starts after at most one completion per slot",
    (nameCount) => {
      const bench = createBench([aParticipant({ id: "ana", limit })]);
      for (let index = 0; index < 50; index++) {
        const id = `name${index % nameCount}`;
        bench.send({ address: "192.0.2.1", identity: { kind: "name", id } });
      }
      const other = bench.send({ address: "192.0.2.2" });
      for (let count = 0; count < limit; count++) bench.calls[count]?.respond(200, "{}");
      expect(other.ledger()).toEqual(["llm.request"]);
    },
  );
});

test("a request that failed holds no slot, and counts for no turn", () => {
  const ana = aParticipant({ id: "ana", limit: 1 });
  const bench = createBench([ana]);
  bench.send();
  bench.call().fail("provider_unreachable");
  expect([ana.load.active, ana.load.startedMs, ana.load.runningFor]).toEqual([0, [], []]);
});
