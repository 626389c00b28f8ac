import { describe, expect, test } from "vitest";
import { aParticipant } from "../domain/room.fixture.ts";
import { HubError } from "../errors.ts";
import { createBench, FakeClient } from "./dispatch.fixture.ts";
import {
  chatStream,
  created,
  done,
  finish,
  responsesStream,
  role,
} from "./stream/streams.fixture.ts";

const completed = { type: "response.completed", response: { id: "resp_1", output: [] } };
const surfaces = {
  "chat/completions": chatStream([role, finish, done]),
  responses: responsesStream([created, completed]),
};

/** A provider that has said the end of its stream, and leaves its connection open. */
function leftOpen(surface: string, text: string, limits = {}) {
  const bench = createBench([aParticipant({ id: "ana", limit: 1 })], limits);
  const client = new FakeClient();
  const sent = bench.send({ client, stream: true, surface });
  const call = bench.call();
  call.head();
  call.data(text);
  return { bench, client, sent, call };
}

describe.each(Object.entries(surfaces))(
  "a response to %s that has said its end",
  (surface, text) => {
    test("is ended a moment later, whatever its provider's connection does", () => {
      const { bench, client, sent, call } = leftOpen(surface, text);
      bench.pass(1_000);
      expect(client.isEnded).toBe(false);
      bench.pass(1_500);
      expect(client).toMatchObject({ isEnded: true, text });
      expect(call.cancelled).toBe("complete");
      expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
    });

    test("is complete when its client closes", () => {
      const { sent, call } = leftOpen(surface, text);
      sent.dispatch.onGone();
      expect(call.cancelled).toBe("complete");
      expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
    });

    test("is not complete when its client closes and was behind", () => {
      const bench = createBench([aParticipant({ id: "ana" })]);
      const client = new FakeClient();
      client.isBehind = true;
      const sent = bench.send({ client, stream: true, surface });
      bench.call().head();
      bench.call().data(text);
      sent.dispatch.onGone();
      expect(sent.ending()).toMatchObject({ code: "client_disconnected" });
    });

    test("is complete when the hub stops", () => {
      const { bench, client, sent } = leftOpen(surface, text);
      bench.inFlight.cutAll(new HubError("hub_shutting_down", "The hub stopped."));
      expect(client).toMatchObject({ isEnded: true, text });
      expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
    });

    test("is complete when the whole request has taken too long", () => {
      const { bench, client, sent } = leftOpen(surface, text, { requestMs: 500 });
      bench.pass(600);
      expect(client).toMatchObject({ isEnded: true, text });
      expect(sent.ledger()).toEqual(["llm.request", "llm.complete"]);
    });

    test("is cut off when its client takes nothing of it", () => {
      const bench = createBench([aParticipant({ id: "ana" })], { clientStallMs: 1_000 });
      const client = new FakeClient();
      client.isBehind = true;
      const sent = bench.send({ client, stream: true, surface });
      bench.call().head();
      bench.call().data(text);
      bench.pass(1_500);
      expect(client.isDestroyed).toBe(true);
      expect(sent.ending()).toMatchObject({ code: "client_stalled" });
    });
  },
);

test("a response that has not said its end is waited for", () => {
  const { bench, client } = leftOpen("chat/completions", chatStream([role, finish]));
  bench.pass(5_000);
  expect(client.isEnded).toBe(false);
});
