import { expect, test } from "vitest";
import { resolveTunnelUrl } from "./tunnel-url.ts";

test("the hub's word is taken, a path alone too", () => {
  const hub = "http://hub.example:5050";
  expect(resolveTunnelUrl(hub, "ws://hub.example:5050/t").href).toBe("ws://hub.example:5050/t");
  expect(resolveTunnelUrl(hub, "wss://other.example/t").href).toBe("wss://other.example/t");
  expect(resolveTunnelUrl(hub, "/t").href).toBe("ws://hub.example:5050/t");
});

test("a hub that does not know of its TLS proxy does not get the token in the clear", () => {
  const url = resolveTunnelUrl("https://hub.example", "ws://hub.example/t");
  expect(url.href).toBe("wss://hub.example/t");
  const withPort = resolveTunnelUrl("https://hub.example:8443", "ws://hub.example:80/t");
  expect(withPort.href).toBe("wss://hub.example:8443/t");
});

test("what is no WebSocket URL is refused", () => {
  expect(() => resolveTunnelUrl("http://h", "file:///etc/passwd")).toThrow(/none/);
  expect(() => resolveTunnelUrl("http://h", "http://[")).toThrow();
});
