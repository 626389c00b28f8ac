import { expect, test } from "vitest";
import { providerHeaders } from "./request-heads.ts";

test("local credentials override those from the hub", () => {
  const fromHub = { authorization: "Bearer hub", "x-api-key": "h", accept: "*/*" };
  expect(providerHeaders(fromHub, { Authorization: "Bearer local" })).toEqual({
    authorization: "Bearer local",
    "x-api-key": "h",
    accept: "*/*",
  });
});

test("the hop header is copied, framing headers are not", () => {
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

test("an invalid hop header is dropped", () => {
  expect(providerHeaders({ "x-roomhub-hop": "a\nb" }, {})).toEqual({});
  expect(providerHeaders({ "x-roomhub-hop": "a".repeat(600) }, {})).toEqual({});
});
