import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { ControlSockets } from "./control.ts";
import type { HopTarget } from "./dial.ts";

const low: HopTarget = target("1111111111111111");
const high: HopTarget = target("2222222222222222");

function target(hubId: string): HopTarget {
  return { hubId, bootId: hubId.slice(0, 8), linkUrl: `http://${hubId}:5050` };
}

/** One of two hubs. A dial is answered by {@link answer}, at both ends when the test says so. */
function startHub(self: HopTarget, other: HopTarget) {
  const dials: PromiseWithResolvers<Duplex>[] = [];
  const said: string[] = [];
  const control = new ControlSockets({
    self,
    dialler: {
      dial() {
        const dial = Promise.withResolvers<Duplex>();
        dials.push(dial);
        return dial.promise as never;
      },
    },
    onOpen: () => undefined,
    onReset: () => said.push("reset"),
    onRefused: () => undefined,
    onNotes: (_hubId, { delivered = [] }) => said.push(...delivered),
    nowMs: () => 0,
  });
  control.hubPresent(other);
  return { self, control, dials, said };
}

test("a connection whose other end was closed is reset at once, also where this end could still write", async () => {
  const { control, said } = startHub(high, low);
  const [here, there] = duplexPair();
  control.accept(here, low);
  expect(control.isOpen(low.hubId)).toBe(true);
  there.end();
  await turn();
  expect(said).toEqual(["reset"]);
  expect(control.isOpen(low.hubId)).toBe(false);
});

test("two hubs that dial each other at the same time keep the same connection", async () => {
  const [one, other] = [startHub(low, high), startHub(high, low)];
  const [lost, lostThere] = duplexPair();
  one.control.accept(lost, high);
  other.control.accept(lostThere, low);
  lost.destroy();
  lostThere.destroy();
  await turn();
  one.control.tick();
  other.control.tick();
  // Each takes the other's handshake before its own is answered.
  const [byOne, atOther] = duplexPair();
  const [byOther, atOne] = duplexPair();
  one.control.accept(atOne, high);
  other.control.accept(atOther, low);
  one.dials.at(-1)?.resolve(byOne);
  other.dials.at(-1)?.resolve(byOther);
  await turn();
  await turn();
  one.control.delivered(high.hubId, "req_1");
  other.control.delivered(low.hubId, "req_2");
  await turn();
  await turn();
  expect([one.said, other.said]).toEqual([
    ["reset", "req_2"],
    ["reset", "req_1"],
  ]);
});
