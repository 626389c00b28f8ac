import { expect, test } from "vitest";
import { withCommandName } from "./command-name.ts";
import { makeWorld } from "./test-context.fixture.ts";

const inCheckout = makeWorld({ commandName: "npx roomhub" }).context;

test.each([
  ["roomhub room list", "npx roomhub room list"],
  [
    "Ask, then: ROOMHUB_PASSWORD=… roomhub join A",
    "Ask, then: ROOMHUB_PASSWORD=… npx roomhub join A",
  ],
  [
    "Usage: roomhub [options]  (roomhub --help)",
    "Usage: npx roomhub [options]  (npx roomhub --help)",
  ],
])("in a checkout %s becomes what runs there", (text, expected) => {
  expect(withCommandName(inCheckout, text)).toBe(expected);
});

test.each(["npx roomhub join A", "a roomhub hub", "roomhub is not there", "my-roomhub.local"])(
  "%s stays as it is",
  (text) => {
    expect(withCommandName(inCheckout, text)).toBe(text);
  },
);

test("an installed command changes nothing", () => {
  expect(withCommandName(makeWorld().context, "roomhub room list")).toBe("roomhub room list");
});
