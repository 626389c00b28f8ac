import type { IncomingMessage } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { memoryTransportPair } from "@roomhub/tunnel";
import { createLinkAcceptor } from "./link-acceptor.ts";
import { createLinkedHubs, delivered } from "./link-pair.fixture.ts";

const headers = {
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
  "sec-websocket-protocol": "roomhub.link.v1",
};

function open(fields: object, unproven = 0, method = "GET"): void {
  const accept = createLinkAcceptor({ size: unproven }, () => {
    throw new Error("nothing is to be accepted");
  });
  const request = { method, headers: { ...headers, ...fields } } as unknown as IncomingMessage;
  accept(request, undefined as never, Buffer.alloc(0));
}

describe("a WebSocket for a link", () => {
  test.each<[string, object, string]>([
    ["from a web page", { origin: "https://example.com" }, "origin_not_allowed"],
    ["of another subprotocol", { "sec-websocket-protocol": "roomhub.tunnel.v1" }, "bad_request"],
    ["without a subprotocol", { "sec-websocket-protocol": undefined }, "bad_request"],
    ["of another version", { "sec-websocket-version": "8" }, "bad_request"],
    ["with a malformed key", { "sec-websocket-key": "x" }, "bad_request"],
  ])("%s is refused", (_what, fields, code) => {
    expect(() => open(fields)).toThrow(expect.objectContaining({ code }));
  });

  test("is refused by POST, and while 16 others have proven nothing", () => {
    expect(() => open({}, 0, "POST")).toThrow(expect.objectContaining({ code: "bad_request" }));
    expect(() => open({}, 16)).toThrow(expect.objectContaining({ code: "hub_overloaded" }));
  });
});

describe("a connection that proves nothing", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  test("is closed after 5 s, and the links of hubs go on meanwhile", async () => {
    const hubs = createLinkedHubs();
    const [ada, bob] = [hubs.add("a"), hubs.add("b")];
    const closes: number[] = [];
    for (let n = 0; n < 16; n++) {
      const [silent, end] = memoryTransportPair();
      silent.listen({ onMessage() {}, onLife() {}, onClose: (code) => void closes.push(code) });
      bob.links.acceptTransport(end);
    }
    ada.links.hubPresent(bob.target);
    await delivered();
    expect(ada.links.isOpen(bob.hubId)).toBe(true);
    vi.advanceTimersByTime(4_999);
    await delivered();
    expect(closes).toEqual([]);
    vi.advanceTimersByTime(1);
    await delivered();
    expect(closes).toEqual(Array<number>(16).fill(4002));
    expect(ada.links.isOpen(bob.hubId)).toBe(true);
    hubs.closeAll();
  });

  test("is closed at once for what is no greeting, and for frames before the proof", async () => {
    const hubs = createLinkedHubs();
    const bob = hubs.add("b");
    for (const message of ["", "hello", '{"link":1}', "\u0001\0\0\0\0\0\0\0\u0002{}"]) {
      const [stranger, end] = memoryTransportPair();
      const closes: number[] = [];
      stranger.listen({ onMessage() {}, onLife() {}, onClose: (code) => void closes.push(code) });
      bob.links.acceptTransport(end);
      stranger.send(Buffer.from(message));
      await delivered();
      expect([message, closes[0]]).toEqual([message, message === '{"link":1}' ? 4003 : 4002]);
    }
    expect(bob.heard).toEqual([]);
    hubs.closeAll();
  });
});
