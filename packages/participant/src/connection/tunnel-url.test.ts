import { expect, test } from "vitest";
import { resolveTunnelUrl } from "./tunnel-url.ts";

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
