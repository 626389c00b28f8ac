import { expect, test } from "vitest";
import { hintHere } from "./hub-hint.ts";
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

test("at the usual hub, or none, a code is enough", () => {
  for (const usual of [undefined, "http://127.0.0.1:5050"]) {
    expect(hintHere(context, "roomhub models ABC234", usual)).toBe("roomhub models ABC234");
  }
});

test("in a checkout it says what runs there", () => {
  const checkout = makeWorld({ commandName: "npx roomhub" }).context;
  expect(hintHere(checkout, "roomhub models ABC234", hub)).toBe(`npx roomhub models ${room}`);
});
