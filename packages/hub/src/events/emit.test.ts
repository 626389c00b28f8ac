import { expect, test } from "vitest";
import { createLog } from "../log.ts";
import { EventBus } from "./bus.ts";
import { createEmitter, type ShareEvent } from "./emit.ts";

test("an event has the same time at the hub where it happens and at all others", () => {
  const bus = new EventBus("boot", (flush) => flush());
  const wires: string[] = [];
  bus.subscribe("ABC234", {
    spelling: "dot",
    isDetailed: true,
    deliver: (wire) => wires.push(wire.toString()),
    end: () => undefined,
  });
  bus.isDetailWatchedElsewhere = true;
  const shared: string[] = [];
  const share: ShareEvent = (_roomCode, _name, timestamp) => shared.push(timestamp);
  let ms = 0;
  const log = createLog("text", () => undefined);
  const emit = createEmitter(
    bus,
    log,
    () => (ms += 1),
    () => 0,
    share,
  );
  emit.participantLeft("ABC234", { participantId: "ada", nickname: "Ada" });
  emit.requestQueued("ABC234", {} as never);
  const shown = wires.map((wire) => /"timestamp":"([^"]*)"/.exec(wire)?.[1]);
  expect(shown).toEqual(["1970-01-01T00:00:00.001Z", "1970-01-01T00:00:00.002Z"]);
  expect(shared).toEqual(shown);
});
