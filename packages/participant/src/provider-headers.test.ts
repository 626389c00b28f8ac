import { expect, test } from "vitest";
import { providerHeaders } from "./provider-headers.ts";

test("credentials of this machine win over what the hub sends along", () => {
  const fromHub = { authorization: "Bearer hub", "x-api-key": "h", accept: "*/*" };
  expect(providerHeaders(fromHub, { Authorization: "Bearer local" })).toEqual({
    authorization: "Bearer local",
    "x-api-key": "h",
    accept: "*/*",
  });
});

test("the hops are copied, and nothing that frames a message", () => {
  const fromHub = {
    "x-roomhub-hop": "a,b",
    host: "evil",
    "content-length": "1",
    "transfer-encoding": "chunked",
    connection: "close",
    expect: "100-continue",
    upgrade: "h2c",
    "proxy-authorization": "x",
    "sec-fetch-mode": "x",
    "bad name": "x",
    "x-split": "a\r\nb: c",
    "content-type": "application/json",
  };
  expect(providerHeaders(fromHub, {})).toEqual({
    "x-roomhub-hop": "a,b",
    "content-type": "application/json",
  });
});

test("a hop header that cannot be one is left out", () => {
  expect(providerHeaders({ "x-roomhub-hop": "a\nb" }, {})).toEqual({});
  expect(providerHeaders({ "x-roomhub-hop": "a".repeat(600) }, {})).toEqual({});
});
