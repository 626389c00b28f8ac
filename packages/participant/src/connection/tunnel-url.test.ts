import { expect, test } from "vitest";
import { resolveTunnelUrl, tunnelUrlOf } from "./known-hubs.ts";

test("the announced URL is used, also a path alone", () => {
  const hub = "http://hub.example:5050";
  expect(resolveTunnelUrl(hub, "ws://hub.example:5050/t").href).toBe("ws://hub.example:5050/t");
  expect(resolveTunnelUrl(hub, "wss://other.example/t").href).toBe("wss://other.example/t");
  expect(resolveTunnelUrl(hub, "/t").href).toBe("ws://hub.example:5050/t");
});

test("the token is not sent in the clear to a hub behind a TLS proxy", () => {
  const url = resolveTunnelUrl("https://hub.example", "ws://hub.example/t");
  expect(url.href).toBe("wss://hub.example/t");
  const withPort = resolveTunnelUrl("https://hub.example:8443", "ws://hub.example:80/t");
  expect(withPort.href).toBe("wss://hub.example:8443/t");
});

test("a URL that is not a WebSocket URL is refused", () => {
  expect(() => resolveTunnelUrl("http://h", "file:///etc/passwd")).toThrow("invalid tunnel URL");
  expect(() => resolveTunnelUrl("http://h", "http://[")).toThrow(TypeError);
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
  expect(tunnelUrlOf(hubUrl, announced, "ABC234", "a@b").href).toBe(expected);
});
