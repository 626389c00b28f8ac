import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { webSocketPair } from "./web-socket-pair.fixture.ts";
import { MessageReader, type Reading, readMessages } from "./message-reader.ts";
import { wsTransport } from "./ws-transport.ts";

/** A frame as a server sends it. RFC 6455 §5.2. */
function frame(first: number, payload: Buffer, mask = 0): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = mask | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** The same as an agent sends it. */
function masked(first: number, payload: Buffer, key = 0): Buffer {
  const plain = frame(first, payload, 0x80);
  const headBytes = plain.length - payload.length;
  const text = payload.map((byte, index) => byte ^ ((key >>> (8 * (3 - (index % 4)))) & 0xff));
  const mask = Buffer.alloc(4);
  mask.writeUInt32BE(key);
  return Buffer.concat([plain.subarray(0, headBytes), mask, text]);
}

const atHub: Reading = { end: "hub", maxBytes: 1_000 };

const [binary, text, beginning, ping, pong, close] = [0x82, 0x81, 0x02, 0x89, 0x8a, 0x88];

/** What is read of the chunks, each in memory of its own, as a socket reads it. */
function read(chunks: readonly Buffer[], reading?: Reading) {
  const seen: (readonly [string, string])[] = [];
  let isOver = false;
  const note = (what: string) => (bytes: Buffer) =>
    void seen.push([what, bytes.toString("latin1")]);
  const reader = new MessageReader(
    {
      onMessage: note("message"),
      onControl: note("control"),
      onOther(bytes) {
        note("other")(bytes);
        isOver = true;
      },
    },
    reading,
  );
  for (const chunk of chunks) {
    const own = Buffer.allocUnsafeSlow(chunk.length);
    chunk.copy(own);
    if (isOver) note("other")(own);
    else reader.read(own);
  }
  const messages = seen.filter(([what]) => what !== "other");
  const others = seen.filter(([what]) => what === "other").map(([, bytes]) => bytes);
  return { messages, other: others.join("") };
}

function cuts(bytes: Buffer): Buffer[][] {
  const inTwo = Array.from(bytes, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);
  return [[bytes], [...bytes].map((byte) => Buffer.of(byte)), ...inTwo];
}

test("messages and control frames are read in their order, in any cut", () => {
  const [short, long] = [Buffer.from("short"), randomBytes(300)];
  const frames = [
    ["message", binary, short],
    ["control", ping, Buffer.alloc(0)],
    ["message", binary, long],
    ["control", pong, Buffer.from("life")],
    ["message", binary, Buffer.alloc(0)],
    ["message", binary, short],
  ] as const;
  const expected = frames.map(([what, first, payload]) => [
    what,
    (what === "message" ? payload : frame(first, payload)).toString("latin1"),
  ]);
  const bytes = Buffer.concat(frames.map(([, first, payload]) => frame(first, payload)));
  for (const chunks of cuts(bytes)) {
    expect(read(chunks)).toEqual({ messages: expected, other: "" });
  }
});

test("messages of up to 1 MiB are read, whatever their length", () => {
  for (const length of [125, 126, 65_535, 65_536, 1_048_576]) {
    const payload = randomBytes(length);
    const bytes = frame(binary, payload);
    for (const step of [65_536, 70_000, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / step) }, (_, index) =>
        bytes.subarray(index * step, (index + 1) * step),
      );
      const { messages } = read(chunks);
      expect(messages.map(([, bytes]) => Buffer.from(bytes, "latin1").equals(payload))).toEqual([
        true,
      ]);
    }
  }
});

test.each([
  ["a close frame", frame(close, Buffer.from([3, 232]))],
  ["a text", frame(text, Buffer.from("text"))],
  ["the beginning of a message", frame(beginning, Buffer.from("begin"))],
  ["a compressed message", frame(binary | 0x40, Buffer.from("small"))],
  ["a masked message", frame(binary, Buffer.from("mask0123"), 0x80)],
  ["a message of more than 1 MiB", frame(binary, Buffer.alloc(1_048_577)).subarray(0, 40)],
  ["a long ping", frame(ping, Buffer.alloc(126))],
])("%s, and all that follows, is left to ws in any cut", (_what, other) => {
  const message = Buffer.from("message");
  const rest = Buffer.concat([other, frame(binary, message)]);
  for (const chunks of cuts(Buffer.concat([frame(binary, message), rest]))) {
    const { messages, other: left } = read(chunks);
    expect(messages).toEqual([["message", "message"]]);
    expect(left).toBe(rest.toString("latin1"));
  }
});

test("a hub reads messages that are masked with a key of zeros, in any cut", () => {
  const payloads = [Buffer.from("short"), randomBytes(300), Buffer.alloc(0)];
  const frames = [...payloads.map((one) => masked(binary, one)), masked(ping, Buffer.from("life"))];
  const expected = [
    ...payloads.map((one) => ["message", one.toString("latin1")]),
    ["control", masked(ping, Buffer.from("life")).toString("latin1")],
  ];
  for (const chunks of cuts(Buffer.concat(frames))) {
    expect(read(chunks, atHub)).toEqual({ messages: expected, other: "" });
  }
});

test.each([
  ["another key", masked(binary, Buffer.from("text"), 0x0102_0304)],
  ["another key of a ping", masked(ping, Buffer.from("text"), 1)],
  ["no mask", frame(binary, Buffer.from("text"))],
  ["a close frame", masked(close, Buffer.from([3, 232]))],
  ["a message over the limit", masked(binary, Buffer.alloc(1_001)).subarray(0, 40)],
])("at a hub, %s and all that follows is left to ws in any cut", (_what, other) => {
  const message = Buffer.from("message");
  const rest = Buffer.concat([other, masked(binary, message)]);
  for (const chunks of cuts(Buffer.concat([masked(binary, message), rest]))) {
    const { messages, other: left } = read(chunks, atHub);
    expect(messages).toEqual([["message", "message"]]);
    expect(left).toBe(rest.toString("latin1"));
  }
});

test("a hub may keep messages: only chunks that were copied into one are given back", () => {
  const kept: Buffer[] = [];
  const reader = new MessageReader(
    { onMessage: (message) => void kept.push(message), onControl() {}, onOther() {} },
    { end: "hub", maxBytes: 100_000 },
  );
  const payload = randomBytes(20_000);
  const bytes = masked(binary, payload);
  const chunks = [bytes.subarray(0, 9_000), bytes.subarray(9_000), bytes].map((part) => {
    const own = Buffer.allocUnsafeSlow(part.length);
    part.copy(own);
    return own;
  });
  for (const chunk of chunks) reader.read(chunk);
  expect(kept.map((message) => message.equals(payload))).toEqual([true, true]);
  expect(chunks.map(({ length }) => length)).toEqual([0, 0, bytes.length]);
});

test("memory of a long chunk and of a joined message is given back when the message was read", () => {
  const messages: Buffer[] = [];
  const reader = new MessageReader({
    onMessage: (message) => void messages.push(message),
    onControl() {},
    onOther() {},
  });
  const bytes = frame(binary, randomBytes(20_000));
  const [whole, half, rest] = [bytes, bytes.subarray(0, 9_000), bytes.subarray(9_000)].map(
    (part) => {
      const own = Buffer.allocUnsafeSlow(part.length);
      part.copy(own);
      return own;
    },
  );
  for (const chunk of [whole, half, rest]) if (chunk !== undefined) reader.read(chunk);
  expect([whole, half, rest, ...messages].map((part) => part?.length)).toEqual([0, 0, 0, 0, 0]);
});

test("ws reads again from the first frame on that is not for the reader", () => {
  const socket = new PassThrough();
  const seen: string[] = [];
  socket.on("data", (chunk: Buffer) => seen.push(`ws ${chunk.toString("latin1")}`));
  readMessages(socket, (message) => seen.push(`message ${message.toString()}`));
  for (const bytes of [frame(binary, Buffer.from("one")), frame(text, Buffer.from("two"))]) {
    socket.emit("data", bytes);
  }
  socket.emit("data", Buffer.from("three"));
  expect(seen).toEqual(["message one", "ws \x81\x03two", "ws three"]);
});

test("ws reads everything of a socket that another program listens to", () => {
  const socket = new PassThrough();
  const seen: string[] = [];
  socket.on("data", () => seen.push("ws"));
  socket.on("data", () => seen.push("other"));
  readMessages(socket, () => seen.push("message"));
  socket.emit("data", frame(binary, Buffer.from("one")));
  expect(seen).toEqual(["ws", "other"]);
});

test("the messages of a real WebSocket are read by the reader, and ws answers its pings", async () => {
  await using ends = await webSocketPair();
  const message = Promise.withResolvers<string>();
  const [wsReads] = ends.socket.listeners("data");
  wsTransport(ends.client, ends.socket).listen({
    onMessage: (bytes) => message.resolve(bytes.toString()),
    onLife() {},
    onClose() {},
  });
  expect(ends.socket.listeners("data")).not.toContain(wsReads);
  const pong = once(ends.peer, "pong");
  ends.peer.ping("life");
  ends.peer.send(Buffer.from("hello"));
  expect(await message.promise).toBe("hello");
  expect(String((await pong)[0])).toBe("life");
});

test("the rest of a message whose connection closes while it is paused is read by nothing", async () => {
  await using ends = await webSocketPair();
  const messages: number[] = [];
  const closed = Promise.withResolvers<void>();
  wsTransport(ends.client, ends.socket).listen({
    onMessage: (bytes) => void messages.push(bytes.length),
    onLife() {},
    onClose: () => closed.resolve(),
  });
  // Each two bytes of it would be an empty message.
  ends.peer.send(Buffer.alloc(1_000_000, Buffer.of(binary, 0)));
  await once(ends.socket, "data");
  ends.socket.pause();
  while (ends.socket.readableLength === 0) await new Promise((resolve) => setImmediate(resolve));
  ends.socket.destroy();
  await closed.promise;
  expect(messages).toEqual([]);
});
