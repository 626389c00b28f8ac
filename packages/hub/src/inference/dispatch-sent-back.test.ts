import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench } from "./dispatch.fixture.ts";

const json = '{"object":"chat.completion","choices":[]}';
const people = (...ids: string[]) => ids.map((id) => aParticipant({ id, limit: 2 }));

function benchOf(...ids: string[]) {
  const bench = createBench(people(...ids));
  return {
    ...bench,
    /** As the hub's timer does. */
    passAndWake(ms: number) {
      bench.pass(ms);
      bench.queues.wake(bench.room.code);
    },
    sizeOfQueue: () => bench.queues.sizeOf(bench.room.code),
  };
}

describe("a request that an agent sends back since all slots are taken", () => {
  test.each(["ana", "*"])("waits and is sent again, with no attempt counted, for %s", (model) => {
    const bench = benchOf("ana");
    const sent = bench.send({ model });
    for (let count = 0; count < 5; count++) {
      bench.call().refuse("busy", 1);
      expect(bench.sizeOfQueue()).toBe(1);
      expect(bench.calls).toHaveLength(count + 1);
      bench.passAndWake(500);
    }
    expect(bench.calls).toHaveLength(6);
    bench.call().respond(200, json);
    expect(sent.client).toMatchObject({ status: 200, text: json });
    expect(sent.client.headers["x-roomhub-attempts"]).toBe("1");
    expect(sent.ending()).toMatchObject({ name: "llm.complete", attempts: 1 });
  });

  test("is not sent again before the pause is over, and no other request is", () => {
    const bench = benchOf("ana");
    bench.send();
    bench.call().refuse("busy", 1);
    bench.send();
    bench.passAndWake(499);
    expect(bench.calls).toHaveLength(1);
    expect(bench.sizeOfQueue()).toBe(2);
  });

  test("goes before those that came later", () => {
    const bench = benchOf("ana");
    const first = bench.send();
    const refused = bench.call();
    bench.send({ model: "ana" });
    bench.send();
    refused.refuse("busy", 1);
    expect(bench.sizeOfQueue()).toBe(2);
    bench.calls[1]?.respond(200, json);
    bench.calls[2]?.respond(200, json);
    expect(first.client.text).toBe(json);
  });

  test("goes to another participant at once where one is free", () => {
    const bench = benchOf("ana", "bob");
    const sent = bench.send();
    bench.call().refuse("busy", 1);
    expect(bench.call().participant.id).toBe("bob");
    bench.call().respond(200, json);
    expect(sent.client.headers["x-roomhub-attempts"]).toBe("1");
    expect(sent.ledger()).toEqual(["llm.request", "llm.request", "llm.complete"]);
  });

  test("waits no longer than others in the queue, and says that it waited", () => {
    const bench = createBench(people("ana"), { queueWaitMs: 1_000 });
    const sent = bench.send();
    bench.call().refuse("busy", 1);
    bench.pass(1_001);
    expect(sent.client.error).toMatchObject({ code: "queue_timeout" });
    expect(sent.ledger()).toEqual(["llm.request", "llm.error"]);
  });

  test("says nothing of how fast or reliable its participant is", () => {
    const [ana] = people("ana");
    const bench = createBench([ana!]);
    bench.send();
    bench.call().refuse("busy", 1);
    expect(ana?.learned.pace.isDoubtful(1_000)).toBe(false);
    expect([ana?.load.active, ana?.load.restsUntilMs]).toEqual([0, undefined]);
  });
});
