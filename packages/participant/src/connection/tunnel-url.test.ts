import { expect, test } from "vitest";
import { resolveTunnelUrl, tunnelUrlOf } from "./known-hubs.ts";

test("the announced URL is used, also a path alone", () => {
  const hub = "http://hub.example:5050";
  expect(resolveTunnelUrl(hub, { url: "ws://hub.example:5050/t" }).href).toBe(
    "ws://hub.example:5050/t",
  );
  expect(resolveTunnelUrl(hub, { url: "wss://other.example/t" }).href).toBe(
    "wss://other.example/t",
  );
  expect(resolveTunnelUrl(hub, { url: "/t" }).href).toBe("ws://hub.example:5050/t");
});

test("the token is not sent in the clear to a hub behind a TLS proxy", () => {
  const url = resolveTunnelUrl("https://hub.example", { url: "ws://hub.example/t" });
  expect(url.href).toBe("wss://hub.example/t");
  const withPort = resolveTunnelUrl("https://hub.example:8443", { url: "ws://hub.example:80/t" });
  expect(withPort.href).toBe("wss://hub.example:8443/t");
});

test("a URL that is not a WebSocket URL is refused", () => {
  expect(() => resolveTunnelUrl("http://h", { url: "file:///etc/passwd" })).toThrow(
    "invalid tunnel URL",
  );
  expect(() => resolveTunnelUrl("http://h", { url: "http://[" })).toThrow(TypeError);
});

test.each([
  [
    "http://127.0.0.1:5050",
    "wss://hub.example/lab/t",
    "ws://127.0.0.1:5050/v1/rooms/ABC234/participants/a%40b/tunnel",
  ],
  ["http://127.0.0.1:5050", "ws://localhost:6060/t", "ws://localhost:6060/t"],
  ["http://192.168.1.5:5050", "wss://hub.example/lab/t", "wss://hub.example/lab/t"],
])("joined at %s, which announces %s, the tunnel goes to %s", (hubUrl, announced, expected) => {
  expect(tunnelUrlOf(hubUrl, { url: announced }, "ABC234", "a@b").href).toBe(expected);
});

test("the tunnel of a hub with a pin has that pin, also where it is at the hub's loopback address", () => {
  const pin = `sha256-${"a".repeat(43)}`;
  const at = (hubUrl: string, url: string) => tunnelUrlOf(hubUrl, { url }, "ABC234", "a").href;
  const path = "/v1/rooms/ABC234/participants/a/tunnel";
  expect(at(`https://h:5050#pin=${pin}`, "ws://h:5050/t")).toBe(`wss://h:5050/t#pin=${pin}`);
  expect(at(`https://127.0.0.1:5050/lab#pin=${pin}`, "wss://h:5050/t")).toBe(
    `wss://127.0.0.1:5050/lab${path}#pin=${pin}`,
  );
});
