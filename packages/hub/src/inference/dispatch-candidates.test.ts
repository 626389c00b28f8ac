import { expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { createBench } from "./dispatch.fixture.ts";

/** A room with one participant that is at capacity, and one that is offline and serves its owner first. */
function createLab() {
  const ben = aParticipant({ id: "ben", limit: 1 });
  const ana = aParticipant({
    ...{ id: "ana", limit: 1, status: "offline", clientKeyDigest: new Uint8Array(32) },
  });
  const bench = createBench([ben, ana]);
  bench.send({ address: "first" });
  return {
    ...{ bench, ana, ben },
    sendOwn: () => bench.send({ address: "owner", clientKey: "rhc_ana" }),
    comeOnline: () => {
      ana.presence.status = "online";
      bench.queues.participantsChanged("ABC234");
    },
    end: () => bench.calls.findLast(({ participant }) => participant === ana)?.respond(200, "{}"),
    /** ids of the participants, in the order of their requests */
    served: () => bench.calls.map(({ participant }) => participant.id),
  };
}

test("a participant that comes online is a candidate for the requests that wait already", () => {
  const { bench, ana, ben, comeOnline, served } = createLab();
  for (const address of ["a", "b", "c"]) bench.send({ address });
  expect([ben.load.queued, ana.load.queued]).toEqual([3, 0]);
  comeOnline();
  expect(served()).toEqual(["ben", "ana"]);
  expect([ben.load.queued, ana.load.queued]).toEqual([2, 2]);
});

test("a participant that goes offline is a candidate no more, and neither has any once all are served", () => {
  const { bench, ana, ben, comeOnline, end } = createLab();
  for (const address of ["a", "b", "c"]) bench.send({ address });
  comeOnline();
  end();
  ana.presence.status = "offline";
  bench.queues.participantsChanged("ABC234");
  expect([ben.load.queued, ana.load.queued]).toEqual([1, 0]);
  ana.presence.status = "online";
  bench.queues.participantsChanged("ABC234");
  for (const call of bench.calls) call.respond(200, "{}");
  expect([ben.load.queued, ana.load.queued]).toEqual([0, 0]);
});

test("requests for any participant wait for one that a stand-in stands in for, and are the stand-in's once it is offline", () => {
  const real = aParticipant({ id: "real", limit: 1 });
  const demo = aParticipant({ id: "demo", isStandIn: true });
  const bench = createBench([demo, real]);
  for (const address of ["a", "b"]) bench.send({ address });
  expect([real.load.queued, demo.load.queued]).toEqual([1, 0]);
  real.presence.status = "offline";
  bench.queues.participantsChanged("ABC234");
  expect(bench.calls.map(({ participant }) => participant.id)).toEqual(["real", "demo"]);
});

test("the owner's requests that came while its participant was offline go first once it is online, to every second slot", () => {
  const { bench, comeOnline, end, sendOwn } = createLab();
  const sent = [bench.send({ address: "a" }), bench.send({ address: "b" }), sendOwn(), sendOwn()];
  const started = () => sent.map(({ ledger }) => ledger().length > 0);
  comeOnline();
  expect(started()).toEqual([false, false, true, false]);
  end();
  expect(started()).toEqual([true, false, true, false]);
  end();
  expect(started()).toEqual([true, false, true, true]);
});
