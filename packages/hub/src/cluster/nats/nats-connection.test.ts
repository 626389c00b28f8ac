import { expect, test } from "vitest";
import { readServers } from "./nats-connection.ts";

test("a NATS URL gives host, port and login, the port 4222 when it has none", () => {
  expect(readServers(["nats://hub:s%40crt@one", "nats://two:4333"])).toEqual({
    servers: ["one:4222", "two:4333"],
    login: { user: "hub", pass: "s@crt" },
    needsTls: false,
  });
});

test("a NATS URL with a user alone gives a token, and one without scheme is nats:", () => {
  expect(readServers(["nats://t0ken@one"]).login).toEqual({ token: "t0ken" });
  expect(readServers(["one:4333"])).toEqual({
    servers: ["one:4333"],
    login: {},
    needsTls: false,
  });
});

test("a tls: URL requires TLS, and an IPv6 address keeps its brackets", () => {
  expect(readServers(["tls://[::1]:4333"])).toEqual({
    servers: ["[::1]:4333"],
    login: {},
    needsTls: true,
  });
});

test("a URL that is no NATS server is refused without being repeated", () => {
  for (const text of ["http://hub:s3cret@one", "nats://", "nats://hub:s3cret@one:port"]) {
    expect(() => readServers([text])).toThrow("A NATS server is given as nats://HOST:PORT");
    expect(() => readServers([text])).not.toThrow("s3cret");
  }
  expect(() => readServers([])).toThrow("No NATS server is given");
});
