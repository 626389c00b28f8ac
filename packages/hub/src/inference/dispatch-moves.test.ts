import { expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { BodyBudget } from "./body-budget.ts";
import { createBench } from "./dispatch.fixture.ts";
import { Upload } from "./request/upload.ts";

/** A room with one slot, which another request has. */
function busyBench() {
  const bench = createBench([aParticipant({ id: "ana", limit: 1 })]);
  bench.send();
  return bench;
}

function anUpload(heldBytes = 0): Upload {
  const source = { pause: () => undefined, resume: () => undefined };
  const budget = new BodyBudget(heldBytes + 1_024);
  return new Upload({ chunks: [], heldBytes, bytes: 100, budget, source, nowMs: () => 0 });
}

test("a request that waits when its room leaves is sent to the next home, without an event", () => {
  const bench = busyBench();
  const waiting = bench.send({ fields: { seed: 7 } });
  bench.leave();
  expect(bench.moved).toEqual([expect.stringContaining('"seed":7')]);
  expect([waiting.ledger(), waiting.settledCount()]).toEqual([[], 1]);
});

test("a form of which only a part has come cannot be sent there: its client is to send it again", () => {
  const bench = busyBench();
  const waiting = bench.send({ upload: anUpload() });
  bench.leave();
  const late = bench.send({ upload: anUpload() });
  expect(bench.moved).toEqual([]);
  for (const { client } of [waiting, late]) {
    expect(client.error).toMatchObject({ code: "peer_unavailable", retryAfterMs: 1_000 });
  }
});

test("a form that has come by then is sent there", () => {
  const bench = busyBench();
  const upload = anUpload();
  bench.send({ upload });
  upload.end();
  bench.leave();
  expect(bench.moved).toHaveLength(1);
});

test.each([
  ["is sent over the next one after a tunnel that its agent never read", true, 2],
  ["fails with a tunnel, whose agent may have begun", false, 1],
])("a form that begins with more than a megabyte %s", (_title, isUnread, calls) => {
  const bench = createBench([aParticipant({ id: "ana", limit: 1 })]);
  bench.send({ upload: anUpload(2 * 1024 * 1024) });
  const { sink } = bench.call();
  sink.onFailure({ code: "tunnel_lost", message: "lost", isUnread });
  sink.onClosed();
  expect(bench.calls).toHaveLength(calls);
});
