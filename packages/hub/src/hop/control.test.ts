import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { ControlSockets } from "./control.ts";

const self = { hubId: "2222222222222222", bootId: "22222222" };
const other = { hubId: "1111111111111111", bootId: "11111111" };

test("a connection whose other end was closed is reset at once, also where this end could still write", async () => {
  const reset = Promise.withResolvers<string>();
  const control = new ControlSockets({
    self,
    dialler: { dial: () => new Promise(() => undefined) },
    onReset: reset.resolve,
    ...{ onOpen: () => undefined, onRefused: () => undefined, onNotes: () => undefined },
    nowMs: () => 0,
  });
  control.hubPresent({ ...other, linkUrl: "http://10.0.0.1:5050" });
  const [here, there] = duplexPair();
  control.accept(here, other);
  expect(control.isOpen(other.hubId)).toBe(true);
  there.end();
  expect(await reset.promise).toBe(other.hubId);
  expect(control.isOpen(other.hubId)).toBe(false);
});
