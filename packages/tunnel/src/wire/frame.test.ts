import { readFileSync } from "node:fs";
import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { array, assert, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { boundedText, FRAME_TYPES } from "./frame.ts";
import type { FrameType } from "./frame.ts";
import { decodeFrames } from "./frame-decoder.ts";
import { FrameWriter } from "./frame-writer.ts";
import { decodeHello, encodeHello } from "./hello.ts";
import type { Hello } from "./hello.ts";
import {
  decodeRequest,
  decodeResponse,
  encodeRequestHead,
  encodeResponseHead,
} from "./message-head.ts";
import type { RequestHead, ResponseHead } from "./message-head.ts";
import { OutgoingBody } from "../streams/outgoing-body.ts";
import { ProtocolError } from "./close-code.ts";
import { RESET_CODES, resetCodeFromWire, resetCodeName } from "./reset-code.ts";
import type { ResetCode } from "./reset-code.ts";
import { decodeStatus, encodeStatus } from "./status.ts";
import type { TunnelStatus } from "./status.ts";

interface WireCase {
  name: string;
  hex: string;
  type: FrameType;
  streamId: number;
  /** as on the wire */
  json: Omit<Hello, "epoch"> & TunnelStatus & { homeEpoch?: number };
  head: RequestHead & ResponseHead & { end: boolean };
  bodyHex: string;
  creditBytes: number;
  count: number;
  code: ResetCode;
  reason: string;
}

function readCases(name: string): WireCase[] {
  const url = new URL(`../../../../tests/fixtures/wire/${name}.json`, import.meta.url);
  return (JSON.parse(readFileSync(url, "utf8")) as { cases: WireCase[] }).cases;
}

interface Frame {
  type: FrameType;
  streamId: number;
  payload: Buffer;
}

function decodeAll(message: Buffer): Frame[] {
  const frames: Frame[] = [];
  const onFrame = (type: FrameType, streamId: number, payload: Buffer) =>
    void frames.push({ type, streamId, payload });
  decodeFrames(message, { onFrame });
  return frames;
}

/** The messages a writer sends for what `write` does in one turn. */
function written(write: (writer: FrameWriter) => void): Buffer[] {
  const messages: Buffer[] = [];
  const send = (message: Buffer) => void messages.push(Buffer.from(message));
  const writer = new FrameWriter(
    { send, isClear: true, isFull: false },
    () => {},
    new SimulatedWorld(),
  );
  write(writer);
  writer.flush();
  return messages;
}

function headed(writer: FrameWriter, wireCase: WireCase, head: string): void {
  const bytes = Buffer.from(wireCase.bodyHex, "hex");
  const body = new OutgoingBody();
  body.push(bytes);
  writer.head(wireCase.type, wireCase.streamId, Buffer.from(head), body, bytes.length);
}

const encoders: Record<string, (writer: FrameWriter, wireCase: WireCase) => void> = {
  hello: (writer, { json }) =>
    writer.text(FRAME_TYPES.hello, encodeHello({ ...json, epoch: json.homeEpoch })),
  status: (writer, { json }) => writer.text(FRAME_TYPES.status, encodeStatus(json)),
  request: (writer, wireCase) =>
    headed(writer, wireCase, encodeRequestHead(wireCase.head, wireCase.head.end)),
  response: (writer, wireCase) =>
    headed(writer, wireCase, encodeResponseHead(wireCase.head, wireCase.head.end)),
  data: (writer, { streamId, bodyHex }) => writer.data(streamId, Buffer.from(bodyHex, "hex")),
  end: (writer, { streamId }) => writer.end(streamId),
  window: (writer, { streamId, creditBytes }) => writer.window(streamId, creditBytes),
  ack: (writer, { count }) => writer.ack(count),
  reset: (writer, { streamId, code, reason }) => writer.reset(streamId, code, reason),
  goaway: (writer, { reason }) => writer.text(FRAME_TYPES.goAway, reason),
};

const decoders: Record<string, (payload: Buffer, wireCase: WireCase) => void> = {
  hello(payload, { json }) {
    const { maxStreams, windowBytes, capabilities, homeEpoch: epoch, resume } = json;
    expect(decodeHello(payload)).toEqual({
      ...{ maxStreams, windowBytes, capabilities, epoch, resume },
    });
  },
  status: (payload, { json }) => expect(decodeStatus(payload)).toEqual(json),
  request(payload, wireCase) {
    const { head, body, end } = decodeRequest(payload, 16_384);
    expect({ ...head, end }).toEqual(wireCase.head);
    expect(body.toString("hex")).toBe(wireCase.bodyHex);
  },
  response(payload, wireCase) {
    const { head, body, end } = decodeResponse(payload, 16_384);
    expect({ ...head, end }).toEqual(wireCase.head);
    expect(body.toString("hex")).toBe(wireCase.bodyHex);
  },
  data: (payload, { bodyHex }) => expect(payload.toString("hex")).toBe(bodyHex),
  end: (payload) => expect(payload).toHaveLength(0),
  window: (payload, { creditBytes }) => expect(payload.readUInt32BE(0)).toBe(creditBytes),
  ack: (payload, { count }) => expect(payload.readUInt32BE(0)).toBe(count),
  reset(payload, { code, reason }) {
    expect(resetCodeFromWire(payload.readUInt8(0))).toBe(code);
    expect(payload.toString("utf8", 1)).toBe(reason);
  },
  goaway: (payload, { reason }) => expect(payload.toString()).toBe(reason),
};

describe.each(Object.keys(encoders))("the %s fixtures", (name) => {
  test.each(readCases(name))("are written byte for byte: $name", (wireCase) => {
    const [message] = written((writer) => encoders[name]!(writer, wireCase));
    expect(message!.toString("hex")).toBe(wireCase.hex);
  });

  test.each(readCases(name))("are read back: $name", (wireCase) => {
    const frames = decodeAll(Buffer.from(wireCase.hex, "hex"));
    expect(frames).toHaveLength(1);
    expect(frames[0]).toMatchObject({ type: wireCase.type, streamId: wireCase.streamId });
    decoders[name]!(frames[0]!.payload, wireCase);
  });
});

const everyFrame = Object.keys(encoders).flatMap((name) => readCases(name));

test("a message of every fixture frame decodes to those frames in order", () => {
  const frames = decodeAll(Buffer.from(everyFrame.map(({ hex }) => hex).join(""), "hex"));
  expect(frames.map(({ type }) => type)).toEqual(everyFrame.map(({ type }) => type));
});

test("a message cut at any byte gives its whole frames and then 4002, and reads nothing beyond", () => {
  const whole = Buffer.from(everyFrame.map(({ hex }) => hex).join(""), "hex");
  const ends = new Set<number>();
  let end = 0;
  for (const { hex } of everyFrame) ends.add((end += hex.length / 2));
  for (let cut = 1; cut < whole.length; cut += 1) {
    // The rest of the frame stands right behind the cut: an over-read would find it.
    const view = whole.subarray(0, cut);
    if (ends.has(cut)) expect(() => decodeAll(view)).not.toThrow();
    else expect(() => decodeAll(view)).toThrow(ProtocolError);
  }
});

test("random frames written in one turn decode to equal frames, in messages of at most 1 MiB", () => {
  const frame = record({
    streamId: integer({ min: 1, max: 0xffff_ffff }),
    bytes: integer({ min: 1, max: 65_536 }),
  });
  assert(
    property(array(frame, { minLength: 1, maxLength: 40 }), (frames) => {
      const messages = written((writer) => {
        for (const { streamId, bytes } of frames) writer.data(streamId, Buffer.alloc(bytes, bytes));
      });
      const decoded = messages.flatMap((message) => decodeAll(message));
      expect(decoded.map(({ streamId, payload }) => ({ streamId, bytes: payload.length }))).toEqual(
        frames,
      );
      expect(decoded.every(({ payload }) => payload.at(-1) === payload.length % 256)).toBe(true);
      expect(Math.max(...messages.map(({ length }) => length))).toBeLessThan(1024 * 1024);
    }),
    { seed: 1, numRuns: 50 },
  );
});

test("small frames of one turn are sent in one message", () => {
  const messages = written((writer) => {
    for (let id = 1; id <= 100; id += 1) writer.end(id);
  });
  expect(messages.map(({ length }) => length)).toEqual([900]);
});

test("a reset code has a name, and an unknown or local one from the wire means internal", () => {
  expect(resetCodeName(RESET_CODES.providerTimeout)).toBe("providerTimeout");
  expect(resetCodeFromWire(4)).toBe(RESET_CODES.providerTimeout);
  expect(resetCodeFromWire(254)).toBe(RESET_CODES.internal);
  expect(resetCodeFromWire(255)).toBe(RESET_CODES.internal);
  expect(resetCodeFromWire(42)).toBe(RESET_CODES.internal);
});

test("a reason is cut between characters", () => {
  expect(boundedText("aé", 2)).toBe("a");
  expect(boundedText("aé", 3)).toBe("aé");
  expect(boundedText("😀😀", 7)).toBe("😀");
});
