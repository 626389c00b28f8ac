import { HubUnreachableError } from "@roomhub/client";
import { expect, test } from "vitest";
import { hintHere, unreachableHubHint } from "./hub-hint.ts";
import { makeWorld } from "../test-context.fixture.ts";

const { context } = makeWorld();
const hub = "http://10.0.0.2:5050";
const room = `${hub}/rooms/ABC234`;

test.each([
  ["see the names: roomhub models ABC234", `see the names: roomhub models ${room}`],
  ["then: ROOMHUB_PASSWORD=… roomhub join ABC234", `then: ROOMHUB_PASSWORD=… roomhub join ${room}`],
  [
    "With it: roomhub leave ABC234 ana --token-env VARIABLE",
    `With it: roomhub leave ${room} ana --token-env VARIABLE`,
  ],
  ["roomhub route --room ABC234 --model x", `roomhub route --room ${room} --model x`],
  ["Did you mean ABC234? roomhub room list", `Did you mean ABC234? roomhub room list --hub ${hub}`],
])("at another hub %j becomes %j", (hint, here) => {
  expect(hintHere(context, hint, hub)).toBe(here);
});

test.each([
  "roomhub route CODE --model MODEL",
  "roomhub join ABC234X",
  "Run an agent on the machine: roomhub join",
  `roomhub room list --hub ${hub}`,
])("%s stays as it is", (hint) => {
  expect(hintHere(context, hint, hub)).toBe(hint);
});

test("a key is passed with an option or a variable", () => {
  const hint = "Ask the room's host for a key, and send it as the API key.";
  for (const url of [undefined, "http://127.0.0.1:5050", hub]) {
    expect(hintHere(context, hint, url)).toBe(
      "Ask the room's host for a key, and pass it with --key-file FILE or ROOMHUB_KEY.",
    );
  }
});

test("at the usual hub, or none, a code is enough", () => {
  for (const usual of [undefined, "http://127.0.0.1:5050"]) {
    expect(hintHere(context, "roomhub models ABC234", usual)).toBe("roomhub models ABC234");
  }
});

test("in a checkout commands get the npx prefix", () => {
  const checkout = makeWorld({ commandName: "npx roomhub" }).context;
  expect(hintHere(checkout, "roomhub models ABC234", hub)).toBe(`npx roomhub models ${room}`);
});

test.each([
  ["http://127.0.0.1:5050", "ECONNREFUSED", /^start one: roomhub up; or name a remote hub: --hub/],
  [
    "http://localhost:6060",
    "ECONNREFUSED",
    /^start one: roomhub up --port 6060; or name a remote hub/,
  ],
  ["http://[::1]:5050", "ECONNREFUSED", /^start one: roomhub up/],
  ["http://10.0.0.2:5050", "ECONNREFUSED", /^on that machine, start the hub with --lan/],
  ["http://10.0.0.2:5060", "bad port", /run the hub on another one: roomhub up --port 5050$/],
])("at %s with %s", (url, reason, expected) => {
  const error = new HubUnreachableError(url, new Error(reason));
  expect(unreachableHubHint(makeWorld().context, error)).toMatch(expected);
});

test("a URL with the wrong scheme is corrected", () => {
  const cause = Object.assign(new Error("wrong"), { code: "ERR_SSL_WRONG_VERSION_NUMBER" });
  const error = new HubUnreachableError("https://hub:5050", cause);
  expect(unreachableHubHint(makeWorld().context, error)).toBe("use http://hub:5050");
});
