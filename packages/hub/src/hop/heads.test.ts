import { expect, test } from "vitest";
import { passingHeaders } from "./heads.ts";

test("header fields pass as they came, in their order and with their letters", () => {
  const headers = [
    "Host",
    "hub.example",
    "X-Twice",
    "1",
    "x-twice",
    "2",
    "Authorization",
    "Bearer k",
  ];
  expect(passingHeaders(headers)).toEqual(headers);
});

test("what concerns one connection does not pass, nor what a client says under the hubs' own name", () => {
  const headers = [
    ...[
      "Connection",
      "keep-alive, X-Hop",
      "X-Hop",
      "1",
      "Keep-Alive",
      "timeout=5",
      "TE",
      "trailers",
    ],
    ...["Transfer-Encoding", "chunked", "Upgrade", "h2c", "X-Roomhub-Peer", "{}", "Accept", "*/*"],
  ];
  expect(passingHeaders(headers)).toEqual(["Accept", "*/*"]);
});

test("no connection takes the length or the host of a message away", () => {
  const headers = ["Connection", "content-length, host", "Content-Length", "2", "Host", "hub"];
  expect(passingHeaders(headers)).toEqual(["Content-Length", "2", "Host", "hub"]);
});
