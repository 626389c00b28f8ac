import { HubUnreachableError } from "@roomhub/client";
import { expect, test } from "vitest";
import { stepToHub } from "./step-to-hub.ts";
import { makeWorld } from "../test-context.fixture.ts";

test.each([
  ["http://127.0.0.1:5050", "ECONNREFUSED", /^start one: roomhub up; or name one elsewhere: --hub/],
  ["http://localhost:6060", "ECONNREFUSED", /^start one: roomhub up --port 6060; or name one/],
  ["http://[::1]:5050", "ECONNREFUSED", /^start one: roomhub up/],
  ["http://10.0.0.2:5050", "ECONNREFUSED", /^on another machine a hub must be open to the network/],
  ["http://10.0.0.2:5060", "bad port", /give the hub another: roomhub up --port 5050$/],
])("at %s with %s", (url, reason, expected) => {
  const error = new HubUnreachableError(url, new Error(reason));
  expect(stepToHub(makeWorld().context, error)).toMatch(expected);
});

test("a URL that is written wrong is put right", () => {
  const cause = Object.assign(new Error("wrong"), { code: "ERR_SSL_WRONG_VERSION_NUMBER" });
  const error = new HubUnreachableError("https://hub:5050", cause);
  expect(stepToHub(makeWorld().context, error)).toBe("use http://hub:5050");
});
