import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { maskOptions, type TunnelMask } from "./tunnel-mask.ts";

function hasZeroMask(url: string, mask: TunnelMask): boolean {
  const key = Buffer.from([1, 2, 3, 4]);
  maskOptions(new URL(url), mask).generateMask?.(key);
  return key.every((byte) => byte === 0);
}

describe("the mask of a tunnel's frames", () => {
  test.each([
    ["wss://hub.example/", true],
    ["ws://127.0.0.1:5050/", true],
    ["ws://localhost:5050/", true],
    ["ws://[::1]:5050/", true],
    ["ws://hub.example/", false],
    ["ws://192.168.1.5:5050/", false],
  ])("of %s is zero: %s", (url, isZero) => {
    expect(hasZeroMask(url, "auto")).toBe(isZero);
    expect(hasZeroMask(url, "none")).toBe(true);
  });
});

test.each([
  ["none", true],
  ["auto", false],
] as const)("with %s, frames on the wire are the bytes sent: %s", async (mask, isPlain) => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await using _closing = { [Symbol.asyncDispose]: async () => server.close() };
  await once(server, "listening");
  const received = new Promise<{ frame: Buffer; message: Buffer }>((resolve) => {
    server.on("connection", (socket, { socket: raw }) => {
      const frames: Buffer[] = [];
      // Before `ws` unmasks in place.
      raw.prependListener("data", (bytes: Buffer) => frames.push(Buffer.from(bytes)));
      socket.on("message", (message: Buffer) => resolve({ frame: Buffer.concat(frames), message }));
    });
  });
  const { port } = server.address() as AddressInfo;
  const options = maskOptions(new URL("ws://hub.example"), mask);
  const client = new WebSocket(`ws://127.0.0.1:${port}`, options);
  const sent = Buffer.from("bytes of a response ".repeat(50));
  client.on("open", () => client.send(sent));
  const { frame, message } = await received;
  client.terminate();
  expect(message).toEqual(sent);
  expect(frame.subarray(-sent.length).equals(sent)).toBe(isPlain);
  // RFC 6455 §5.3: a client's frame is masked, whatever the key.
  expect((frame[1] ?? 0) & 0x80).toBe(0x80);
});
