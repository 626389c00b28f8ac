import { expect, test } from "vitest";
import { type AwayEvent, AwayEvents, type Served } from "./away-events.ts";

function startAway(home?: Served) {
  const lab = { home, said: [] as string[], isConnected: true };
  const events = new AwayEvents({
    bus: () => ({
      publish: (_code, name, _timestamp, payload) =>
        void lab.said.push(`${name} ${(payload as { requestId: string }).requestId}`),
    }),
    homeOf: () => lab.home,
    send: (hubId, { name }) => {
      if (lab.isConnected) lab.said.push(`${name} to ${hubId}`);
      return lab.isConnected;
    },
    onPublished: ({ payload }) =>
      void lab.said.push(`released ${(payload as { requestId: string }).requestId}`),
  });
  return Object.assign(lab, { events });
}

function anEvent(name: AwayEvent["name"], requestId: string): AwayEvent {
  return { code: "AB23CD", name, timestamp: "2026-01-01T00:00:00.000Z", payload: { requestId } };
}

test("what happens in a room that is on its way waits for its home, in order", () => {
  const lab = startAway();
  lab.events.leave("AB23CD");
  for (const name of ["llm.request", "llm.complete"] as const)
    lab.events.divert("AB23CD", name, () => "", { requestId: "1" });
  expect(lab.said).toEqual([]);
  lab.home = { kind: "there", hub: { hubId: "bb", bootId: "b1" } };
  lab.isConnected = false;
  lab.events.tick();
  expect(lab.said).toEqual([]);
  lab.isConnected = true;
  lab.events.tick();
  expect(lab.said).toEqual(["llm.request to bb", "llm.complete to bb"]);
});

test("a request that its client's hub has told lost does not end again when its silent home is back", () => {
  const lab = startAway({ kind: "here" });
  expect(lab.events.endsOnce("1")).toBe(true);
  lab.events.arrived(anEvent("llm.error", "1"));
  expect(lab.said).toEqual(["released 1"]);
  lab.events.arrived(anEvent("llm.complete", "2"));
  expect(lab.said.slice(1)).toEqual(["llm.complete 2", "released 2"]);
  expect(lab.events.endsOnce("2")).toBe(false);
});
