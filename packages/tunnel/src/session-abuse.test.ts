import { readFileSync } from "node:fs";
import {
  array,
  assert,
  constantFrom,
  integer,
  oneof,
  property,
  record,
  uint8Array,
} from "fast-check";
import { expect, test } from "vitest";
import { AgentSession } from "./agent-session.ts";
import type { Responder } from "./streams/agent-stream.ts";
import { CLOSE_CODES } from "./wire/close-code.ts";
import { FRAME_TYPES } from "./wire/frame.ts";
import { encodeHello } from "./wire/hello.ts";
import { RequesterSession } from "./requester-session.ts";
import type { RequestHead } from "./wire/message-head.ts";
import { RESET_CODES } from "./wire/reset-code.ts";
import { frame, headed, RawPeer, u32 } from "./raw-peer.fixture.ts";

const hello = frame(1, 0, encodeHello({ maxStreams: 8, windowBytes: 1000, capabilities: {} }));
const post: RequestHead = { method: "POST", path: "/", headers: {}, protocol: "", stream: false };
const request = (id: number): Buffer => headed(3, id, { ...post, end: false }, "body");
const okHead = { status: 200, headers: {}, end: false };

function startHub(isPaused = false) {
  const peer = new RawPeer();
  const closes: number[] = [];
  const errors: unknown[] = [];
  const hub = new RequesterSession(peer, {
    responseWindowBytes: 1000,
    maxStreams: 8,
    pingIntervalMs: undefined,
    handlers: {
      onHello() {},
      onStatus() {},
      onLife() {},
      onGoAway() {},
      onClose: (code) => closes.push(code),
      onError: (error) => errors.push(error),
    },
  });
  const stories: string[][] = [];
  return {
    peer,
    hub,
    closes,
    errors,
    stories,
    open(body: Buffer[] = []) {
      const story: string[] = [];
      stories.push(story);
      return hub.open(post, body, {
        onHead: () => story.push("head"),
        onData: () => !isPaused,
        onEnd: () => story.push("end"),
        onReset: (code) => story.push(`reset ${code}`),
        onClosed: () => story.push("closed"),
      });
    },
  };
}

function startAgent() {
  const peer = new RawPeer();
  const closes: number[] = [];
  const errors: unknown[] = [];
  const responders: Responder[] = [];
  const agent = new AgentSession(peer, {
    maxStreams: 2,
    requestWindowBytes: 1000,
    capabilities: {},
    pingIntervalMs: undefined,
    handlers: {
      onHello() {},
      onRequest({ responder }) {
        responders.push(responder);
        return { onBody: () => false, onBodyEnd() {}, onReset() {}, onDrain() {} };
      },
      onGoAway() {},
      onClose: (code) => closes.push(code),
      onError: (error) => errors.push(error),
    },
  });
  return { peer, agent, closes, errors, responders };
}

interface MalformedCase {
  name: string;
  hex: string;
  closeCode: number;
}

const malformed = JSON.parse(
  readFileSync(new URL("../../../tests/fixtures/wire/malformed.json", import.meta.url), "utf8"),
) as { cases: MalformedCase[] };

test.each(malformed.cases)("$name closes hub and agent with $closeCode", ({ hex, closeCode }) => {
  for (const side of [startHub(), startAgent()]) {
    side.peer.feed(Buffer.from(hex, "hex"));
    expect([side.peer.closeCode, ...side.closes]).toEqual([closeCode, closeCode]);
    expect(side.errors).toEqual([]);
    side.peer.feed(hello);
    expect(side.closes).toHaveLength(1);
  }
});

test.each<[string, number, Buffer[]]>([
  ["REQUEST", CLOSE_CODES.protocolError, [request(1)]],
  ["DATA before RESPONSE", CLOSE_CODES.protocolError, [frame(5, 1, "x")]],
  ["END before RESPONSE", CLOSE_CODES.protocolError, [frame(6, 1)]],
  ["a second RESPONSE", CLOSE_CODES.protocolError, [headed(4, 1, okHead), headed(4, 1, okHead)]],
  ["credit it was not due", CLOSE_CODES.flowControl, [frame(7, 1, u32(1))]],
  ["credit of nothing", CLOSE_CODES.flowControl, [frame(7, 1, u32(0))]],
  [
    "one byte over the window",
    CLOSE_CODES.flowControl,
    [headed(4, 1, okHead, "x".repeat(500)), frame(5, 1, "x".repeat(501))],
  ],
  [
    "a body over the window in RESPONSE",
    CLOSE_CODES.flowControl,
    [headed(4, 1, okHead, "x".repeat(1001))],
  ],
  ["a frame for the next stream", CLOSE_CODES.unknownStream, [frame(5, 2, "x")]],
])("an agent that sends %s is closed with %i and its streams are lost", (_, code, frames) => {
  const side = startHub(true);
  side.peer.feed(hello);
  side.open();
  side.peer.feed(...frames);
  expect([side.peer.closeCode, ...side.closes]).toEqual([code, code]);
  expect(side.stories[0]!.slice(-2)).toEqual(["reset 255", "closed"]);
  expect(side.hub.activeStreams).toBe(0);
});

test.each<[string, number, Buffer[]]>([
  ["RESPONSE", CLOSE_CODES.protocolError, [headed(4, 1, okHead)]],
  ["a malformed request head", CLOSE_CODES.protocolError, [headed(3, 2, { method: "GET" })]],
  ["DATA after END", CLOSE_CODES.protocolError, [frame(6, 1), frame(5, 1, "x")]],
  ["END twice", CLOSE_CODES.protocolError, [frame(6, 1), frame(6, 1)]],
  ["a stream id twice", CLOSE_CODES.unknownStream, [request(1)]],
  ["one byte over the window", CLOSE_CODES.flowControl, [frame(5, 1, "x".repeat(997))]],
])("a hub that sends %s is closed with %i", (_, code, frames) => {
  const side = startAgent();
  side.peer.feed(hello, request(1));
  side.peer.feed(...frames);
  expect([side.peer.closeCode, ...side.closes]).toEqual([code, code]);
  expect(side.agent.activeStreams).toBe(0);
});

test("a malformed response head ends only its stream", () => {
  const side = startHub();
  side.peer.feed(hello);
  side.open();
  side.open();
  side.peer.feed(
    headed(4, 1, { ...okHead, status: "200" }),
    headed(4, 2, { ...okHead, end: true }),
  );
  expect(side.stories).toEqual([
    [`reset ${RESET_CODES.providerInvalidResponse}`],
    ["head", "end", "closed"],
  ]);
  side.hub.close(CLOSE_CODES.done, "");
  expect(side.peer.sent.at(-1)).toMatchObject({ type: FRAME_TYPES.reset, streamId: 1 });
  expect(side.stories[0]).toEqual([`reset ${RESET_CODES.providerInvalidResponse}`, "closed"]);
});

test("a stream over the agent's limit is refused with overloaded, and the tunnel stays open", () => {
  const side = startAgent();
  side.peer.feed(hello, request(1), request(2), request(3), frame(5, 3, "late"));
  expect(side.responders).toHaveLength(2);
  side.agent.close(CLOSE_CODES.done, "");
  const reset = side.peer.sent.find(({ type }) => type === FRAME_TYPES.reset);
  expect([reset?.streamId, reset?.payload[0]]).toEqual([3, RESET_CODES.overloaded]);
});

test("late frames of a finished stream are ignored, a flood of them closes with 4008", () => {
  const side = startHub();
  side.peer.feed(hello);
  side.open();
  side.peer.feed(headed(4, 1, { ...okHead, end: true }));
  for (let i = 0; i < 10_000; i += 1) side.peer.feed(frame(5, 1, "x"));
  side.hub.tick(0);
  side.peer.feed(frame(5, 1, "x"));
  expect(side.peer.closeCode).toBeUndefined();
  for (let i = 0; i < 10_000; i += 1) side.peer.feed(frame(5, 1, "x"));
  expect(side.peer.closeCode).toBe(CLOSE_CODES.abuse);
});

test("a response that crosses its RESET confirms it", () => {
  const side = startHub();
  side.peer.feed(hello);
  side.open().reset(RESET_CODES.cancelled, "");
  side.peer.feed(headed(4, 1, { ...okHead, end: true }, "whole"));
  expect(side.stories).toEqual([["closed"]]);
});

test("a peer that sends no HELLO within 10 s is closed with 4002", () => {
  for (const side of [startHub(), startAgent()]) {
    const session = "hub" in side ? side.hub : side.agent;
    session.tick(500);
    session.tick(10_499);
    expect(side.peer.closeCode).toBeUndefined();
    session.tick(10_500);
    expect(side.peer.closeCode).toBe(CLOSE_CODES.protocolError);
  }
});

test("a peer that misses two pings is dead: the connection is terminated, streams are lost, the owner gets 4007", () => {
  const side = startHub();
  side.peer.feed(hello);
  side.open();
  side.hub.tick(0);
  side.peer.feed(frame(2, 0, '{"ready":true}'));
  side.hub.tick(10_000);
  side.hub.tick(20_000);
  expect(side.closes).toEqual([]);
  side.hub.tick(30_000);
  expect(side.closes).toEqual([CLOSE_CODES.dead]);
  expect([side.peer.pings, side.peer.isTerminated]).toEqual([3, true]);
  expect(side.stories).toEqual([["reset 255", "closed"]]);
});

test("the body of a request never exceeds the agent's credit", () => {
  const credits = array(integer({ min: 1, max: 1000 }), { maxLength: 20 });
  assert(
    property(integer({ min: 0, max: 5000 }), credits, (bodyBytes, grants) => {
      const side = startHub();
      side.peer.feed(hello);
      side.open([Buffer.alloc(bodyBytes)]);
      let allowed = 1000;
      const granted = (): number => Math.min(bodyBytes, allowed);
      let returned = 0;
      for (const grant of grants) {
        const credit = Math.min(grant, granted() - returned);
        if (credit === 0) break;
        side.peer.feed(frame(7, 1, u32(credit)));
        returned += credit;
        allowed += credit;
      }
      const expected = granted();
      side.hub.close(CLOSE_CODES.done, "");
      let sent = 0;
      for (const { type, payload } of side.peer.sent) {
        if (type === FRAME_TYPES.request) sent += payload.length - 4 - payload.readUInt32BE(0);
        if (type === FRAME_TYPES.data) sent += payload.length;
      }
      expect(sent).toBe(expected);
      expect(side.peer.closeCode).toBe(CLOSE_CODES.done);
    }),
    { seed: 1, numRuns: 200 },
  );
});

const randomFrame = oneof(
  record({
    type: integer({ min: 0, max: 11 }),
    streamId: integer({ min: 0, max: 5 }),
    payload: oneof(
      uint8Array({ maxLength: 40 }),
      constantFrom(
        u32(100),
        headed(3, 1, { ...post, end: false }, "x").subarray(9),
        headed(4, 1, okHead, "x").subarray(9),
        Buffer.from('{"ready":true}'),
      ),
    ),
  }).map(({ type, streamId, payload }) => frame(type, streamId, Buffer.from(payload))),
  uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => Buffer.from(bytes)),
);

test("10,000 messages of random frames never throw, and close only with 4xxx", () => {
  const reached = new Set<number>();
  assert(
    property(array(randomFrame, { minLength: 1, maxLength: 6 }), (frames) => {
      for (const side of [startHub(), startAgent()]) {
        side.peer.feed(hello);
        if ("open" in side) for (let i = 0; i < 3; i += 1) side.open();
        side.peer.feed(...frames);
        expect(side.errors).toEqual([]);
        if (side.peer.closeCode === undefined) continue;
        reached.add(side.peer.closeCode);
        expect(side.closes).toEqual([side.peer.closeCode]);
        expect(side.peer.closeCode).toBeGreaterThanOrEqual(4000);
      }
    }),
    { seed: 1, numRuns: 5_000 },
  );
  const { protocolError, flowControl, unknownStream, abuse } = CLOSE_CODES;
  expect([...reached]).toEqual(
    expect.arrayContaining([protocolError, flowControl, unknownStream, abuse]),
  );
});
