import { describe, expect, test } from "vitest";
import { EnteredRequests } from "./entered-requests.ts";

/** Counts requests of a room, spread over a time. */
function count(requests: EnteredRequests, hubId: string, times: number, fromMs = 0, everyMs = 0) {
  for (let n = 0; n < times; n += 1) requests.count("R1", hubId, fromMs + n * everyMs);
}

describe("a room is to move to another hub", () => {
  test("when over 80 % of at least 100 requests entered there", () => {
    const requests = new EnteredRequests("a");
    count(requests, "a", 19);
    count(requests, "b", 80);
    expect(requests.target("R1", 0)).toBe(undefined);
    count(requests, "b", 1);
    expect(requests.target("R1", 0)).toBe("b");
    count(requests, "a", 2);
    expect(requests.target("R1", 0)).toBe(undefined);
  });

  test("when they entered within a minute", () => {
    const requests = new EnteredRequests("a");
    count(requests, "b", 99, 0, 600);
    expect(requests.target("R1", 59_999)).toBe(undefined);
    count(requests, "b", 1, 60_000);
    expect(requests.target("R1", 60_000)).toBe(undefined);
    count(requests, "b", 99, 60_001);
    expect(requests.target("R1", 119_999)).toBe("b");
    expect(requests.target("R1", 120_000)).toBe(undefined);
  });

  test("not for a burst after a minute in which they entered everywhere", () => {
    const requests = new EnteredRequests("a");
    count(requests, "a", 1_000, 0, 30);
    count(requests, "b", 1_000, 0, 30);
    count(requests, "b", 200, 60_001);
    expect(requests.target("R1", 60_001)).toBe(undefined);
    count(requests, "b", 4_000, 60_002);
    expect(requests.target("R1", 60_002)).toBe("b");
  });

  test("at most once in 10 minutes", () => {
    const requests = new EnteredRequests("a");
    requests.moved("R1", 0);
    count(requests, "b", 100, 599_000);
    expect(requests.target("R1", 599_999)).toBe(undefined);
    expect(requests.target("R1", 600_000)).toBe("b");
  });

  test("never to the hub that it is at", () => {
    const requests = new EnteredRequests("a");
    count(requests, "a", 1_000);
    expect(requests.target("R1", 0)).toBe(undefined);
  });
});

test("tidying changes nothing about what counts", () => {
  const requests = new EnteredRequests("a");
  requests.moved("R1", 0);
  count(requests, "b", 100, 595_000);
  requests.tidy(599_999);
  expect(requests.target("R1", 599_999)).toBe(undefined);
  requests.tidy(600_000);
  expect(requests.target("R1", 600_000)).toBe("b");
});
