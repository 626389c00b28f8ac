import { Roster, SURFACES } from "@roomhub/protocol";
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import type { Arrival } from "./arrival.ts";
import type { PeerReader } from "../peer.ts";
import type { PipeOutcome } from "../../hop/exchange.ts";
import { FlushingResponses } from "../flushing-responses.ts";
import type { Place } from "../../hop/dial.ts";
import { EntryPlaces } from "./entry-places.ts";
import { decodeHopFacts } from "./hop-facts.ts";

const request = {} as IncomingMessage;
const refusal = '{"error":{"code":"queue_full","message":"ada has 100 requests waiting."}}';
const there = (epoch: number, mustTake = false): Place => ({
  kind: "there",
  home: { hubId: "bb", bootId: "b1", epoch },
  mustTake,
});

/**
 * @param places - one for each look
 * @param outcomes - one for each time it is piped
 * @param heldMs - how long each hub has the request before it responds that it is not the home; 0: it does not respond
 */
function arriving(
  places: Place[],
  outcomes: PipeOutcome["kind"][],
  response: object = {},
  surface?: Arrival["surface"],
  heldMs = 0,
) {
  const said: string[] = [];
  let nowMs = 0;
  const next = () => places.shift() ?? expect.unreachable("one look too many");
  const hub = new EntryPlaces({
    homes: {
      placeOf: next,
      placed: async () => {
        said.push("waits");
        await Promise.resolve();
        nowMs += 8_000;
        return next();
      },
      requestEntered: () => undefined,
      notServedBy: (code, home) => said.push(`${code} not at ${home.epoch}`),
    },
    hops: {
      async send(_piped, _home, facts) {
        await Promise.resolve();
        const { requestId, epoch, mustTake } = decodeHopFacts(facts);
        said.push(`${requestId} piped to ${epoch}${mustTake ? ", which must take it" : ""}`);
        const kind = outcomes.shift() ?? expect.unreachable("piped once too often");
        if (kind === "untaken") {
          nowMs += heldMs;
          return { kind, wasReached: heldMs > 0 };
        }
        if (kind === "refused") return { kind, body: refusal };
        return kind === "broken" ? { kind, headers: {} } : { kind };
      },
      pipeUpgrade: () => expect.unreachable("an upgrade"),
    },
    tell: (hubId, requestId, outcome) => void said.push(`${hubId} told: ${requestId} ${outcome}`),
    flushing: new FlushingResponses(1_000, () => nowMs),
    peers: {
      sourceOf: () => ({ throttleKey: "192.0.2.1", ownAddress: undefined }),
      peerOf: () => ({ address: undefined, isOperator: false }) as ReturnType<PeerReader["peerOf"]>,
      originOf: () => "http://hub.example",
    },
    nowMs: () => nowMs,
    async pause(ms) {
      said.push(`pauses for ${ms} ms`);
    },
    hubOfSession: () => undefined,
    urlOf: () => undefined,
    lost: ({ code, payload: { requestId } }) => said.push(`${code} lost ${requestId}`),
    isDraining: () => false,
    underWay: new Roster(),
    refuseAtLimit: () => undefined,
    self: { hubId: "aa", bootId: "a1" },
  });
  const over = Promise.withResolvers<void>();
  const target = {
    ...{ code: "AB23CD", requestId: "req_1", surface, isLasting: false },
    serve: () => {
      said.push("served");
      over.resolve();
    },
    refuse: (error: unknown) => {
      said.push(error instanceof HubError ? error.code : String(error));
      over.resolve();
    },
  };
  hub.request(target, request, Object.assign(new EventEmitter(), response) as ServerResponse);
  return { said, over: over.promise };
}

test("a request for a room of this hub is served at once", () => {
  expect(arriving([{ kind: "here", epoch: 1 }], []).said).toEqual(["served"]);
});

test("a request for a room of another hub is piped there, and that hub hears when its client has the response", async () => {
  const { said } = arriving([there(3)], ["delivered"]);
  await expect.poll(() => said).toContain("bb told: req_1 delivered");
  expect(said).toEqual(["req_1 piped to 3", "bb told: req_1 delivered"]);
});

test("a request without a home waits for one, which may be this hub", async () => {
  const { said, over } = arriving([{ kind: "wait" }, { kind: "here", epoch: 1 }], []);
  await over;
  expect(said).toEqual(["waits", "served"]);
});

test("what a hub did not take goes to the next home, and with it whether that one must take the room", async () => {
  const { said, over } = arriving(
    [there(3), there(3, true), { kind: "here", epoch: 1 }],
    ["untaken", "untaken"],
  );
  await over;
  expect(said).toEqual([
    ...["req_1 piped to 3", "AB23CD not at 3", "waits"],
    ...["req_1 piped to 3, which must take it", "AB23CD not at 3", "waits", "served"],
  ]);
});

test("a home that did not take a request is not dialled again at once", async () => {
  const { said, over } = arriving(
    [there(3), there(3), { kind: "here", epoch: 1 }],
    ["untaken", "untaken"],
  );
  await over;
  const piped = ["req_1 piped to 3", "AB23CD not at 3", "waits"];
  expect(said).toEqual([...piped, "pauses for 100 ms", ...piped, "served"]);
});

test("a request that has waited at a home, however long, finds the next one", async () => {
  const places: Place[] = [there(3), there(4)];
  const { said, over } = arriving(places, ["untaken", "delivered"], {}, undefined, 60_000);
  await Promise.race([over, expect.poll(() => said).toContain("bb told: req_1 delivered")]);
  expect(said).toEqual([
    ...["req_1 piped to 3", "AB23CD not at 3", "waits"],
    ...["req_1 piped to 4", "bb told: req_1 delivered"],
  ]);
});

test("hubs that each take the other one for the home are not asked for ever", async () => {
  const { said, over } = arriving(
    [there(3), there(3), there(3)],
    ["untaken", "untaken", "untaken"],
  );
  await over;
  expect(said.at(-1)).toBe("peer_unavailable");
});

test("a home that ends after it has read the request is an error, and it is not sent again", async () => {
  const before = arriving([there(3)], ["broken"], { headersSent: false });
  await before.over;
  expect(before.said).toEqual(["req_1 piped to 3", "peer_unavailable"]);
  const left: string[] = [];
  const after = arriving([there(3)], ["broken"], {
    ...{ headersSent: true, getHeader: () => "application/json" },
    destroy: () => left.push("closed"),
  });
  await expect.poll(() => left).toEqual(["closed"]);
  expect(after.said).toEqual(["req_1 piped to 3"]);
});

test("a home that refuses a request whose stream has begun ends that with its own error, and the request once", async () => {
  const chat = SURFACES.find(({ path }) => path === "chat/completions");
  const left: string[] = [];
  const { said } = arriving(
    [there(3)],
    ["refused"],
    { headersSent: true, end: (frame: string) => left.push(frame) },
    chat,
  );
  await expect.poll(() => left).toHaveLength(1);
  expect(left[0]).toContain('"message":"ada has 100 requests waiting."');
  expect(left[0]).toContain('"code":"queue_full"');
  await expect.poll(() => said).toEqual(["req_1 piped to 3", "bb told: req_1 delivered"]);
});
