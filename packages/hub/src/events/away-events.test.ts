import { describe, expect, test } from "vitest";
import type { HubIdentity, Place } from "../domain/hub-identity.ts";
import { AwayEvents } from "./away-events.ts";
import type { RoomEvent } from "./emit.ts";

function startAway(place: Place = { kind: "wait" }) {
  const lab = {
    place,
    said: [] as string[],
    told: [] as string[],
    ended: [] as string[],
    isConnected: true,
    isLinked: true,
    isUp: true,
    isDraining: false,
    nowMs: 0,
  };
  const inWords = ({ name, payload }: RoomEvent) =>
    `${name} ${(payload as { requestId: string }).requestId}`;
  const events = new AwayEvents({
    placeOf: () => lab.place,
    send: (hubId, event) => {
      if (lab.isConnected) lab.said.push(`${inWords(event)} to ${hubId}`);
      return lab.isConnected;
    },
    isOpen: () => lab.isLinked,
    isUp: () => lab.isUp,
    isDraining: () => lab.isDraining,
    publish: (event) => void lab.said.push(inWords(event)),
    tellEnd: (hubId, requestId) => void lab.told.push(`${requestId} to ${hubId}`),
    onEnd: (requestId) => void lab.ended.push(requestId),
    nowMs: () => lab.nowMs,
  });
  const at = (ms: number) => {
    for (; lab.nowMs < ms; lab.nowMs += 250) events.tick();
    events.tick();
    return lab.said;
  };
  return Object.assign(lab, { events, at });
}

function anEvent(name: RoomEvent["name"], requestId: string): RoomEvent {
  return { code: "AB23CD", name, timestamp: "2026-01-01T00:00:00.000Z", payload: { requestId } };
}

const here: Place = { kind: "here", epoch: 2 };
const there = (hub: HubIdentity): Place => ({
  kind: "there",
  home: { ...hub, epoch: 1 },
  mustTake: false,
});
const [one, other] = [
  { hubId: "aa", bootId: "a1" },
  { hubId: "bb", bootId: "b1" },
];

test("what happens in a room that is on its way waits for its home, in order", () => {
  const lab = startAway();
  lab.events.leave("AB23CD");
  for (const name of ["llm.request", "llm.complete"] as const)
    lab.events.divert(anEvent(name, "1"));
  expect(lab.said).toEqual([]);
  lab.place = there(other);
  lab.isConnected = false;
  lab.events.tick();
  expect(lab.said).toEqual([]);
  lab.isConnected = true;
  lab.events.tick();
  expect(lab.said).toEqual(["llm.request 1 to bb", "llm.complete 1 to bb"]);
});

test("a request ends once, whether its home or the hub of its client tells it first", () => {
  const lab = startAway(here);
  for (const name of ["llm.error", "llm.complete"] as const) lab.events.arrived(anEvent(name, "1"));
  expect(lab.said).toEqual(["llm.error 1"]);
  expect(lab.ended).toEqual(["1", "1"]);
});

test("an end frees what the request took at an earlier home of its room, from whichever hub it comes", () => {
  const lab = startAway(here);
  lab.events.divert(anEvent("llm.request", "begun here"));
  // The room went to another hub and came back meanwhile.
  lab.events.divert(anEvent("llm.complete", "begun here"));
  lab.events.arrived(anEvent("llm.complete", "begun there"));
  lab.events.lost(anEvent("llm.error", "lost"), one);
  lab.at(3_000);
  expect(lab.ended).toEqual(["begun here", "begun there", "lost"]);
});

describe("an error of a request that another hub piped", () => {
  test("waits for the directory when neither that nor the hub could be reached", () => {
    const lab = startAway(here);
    for (const id of ["1", "2", "3"]) lab.events.piped(id, "bb");
    Object.assign(lab, { isLinked: false, isUp: false });
    const end = (id: string) => lab.events.divert(anEvent("llm.error", id));
    expect(lab.events.divert(anEvent("llm.request", "1"))).toBe(false);
    expect(end("of this hub's client")).toBe(false);
    expect(lab.events.divert(anEvent("llm.complete", "3"))).toBe(false);
    expect(end("1")).toBe(true);
    lab.isLinked = true;
    expect(lab.at(10_000)).toEqual([]);
    lab.isUp = true;
    expect(lab.at(10_250)).toEqual(["llm.error 1"]);
    expect(end("2")).toBe(false);
  });

  test("waits while it is not known whether the room is still here, and longer for what that hub says", () => {
    const lab = startAway();
    for (const id of ["1", "2", "3"]) lab.events.piped(id, "bb");
    for (const id of ["1", "2", "of this hub's client"])
      expect(lab.events.divert(anEvent("llm.error", id))).toBe(id.length === 1);
    expect(lab.at(1_750)).toEqual([]);
    lab.place = there(other);
    expect(lab.events.divert(anEvent("llm.complete", "3"))).toBe(true);
    expect(lab.said).toEqual(["llm.complete 3 to bb"]);
    expect(lab.at(2_000).slice(1)).toEqual(["llm.error 1 to bb", "llm.error 2 to bb"]);
  });

  test("is reported to that hub at once: the connection of the request may break", () => {
    const lab = startAway(here);
    for (const id of ["1", "2"]) lab.events.piped(id, "bb");
    expect(lab.events.divert(anEvent("llm.error", "1"))).toBe(false);
    expect(lab.events.divert(anEvent("llm.complete", "2"))).toBe(false);
    expect(lab.told).toEqual(["1 to bb"]);
  });

  test("waits for what that hub says of its client, where the connection broke", () => {
    const lab = startAway(here);
    for (const id of ["1", "2", "3"]) lab.events.piped(id, "bb");
    const end = (id: string) => {
      const payload = { requestId: id, code: "client_disconnected" };
      return lab.events.divert({ ...anEvent("llm.error", id), payload });
    };
    lab.events.left("1");
    expect(end("1")).toBe(false);
    expect(end("2")).toBe(true);
    lab.events.left("2");
    expect(lab.said).toEqual(["llm.error 2"]);
    expect(end("3")).toBe(true);
    expect(lab.at(1_750)).toHaveLength(1);
    expect(lab.told).toEqual([]);
    expect(lab.at(2_000).slice(1)).toEqual(["llm.error 3"]);
    expect(lab.told).toEqual(["3 to bb"]);
  });

  test("is forgotten where its home cannot be reached for 10 s: another home has told it when this hub has the room again", () => {
    const lab = startAway(there(other));
    lab.events.piped("1", "cc");
    lab.isConnected = false;
    expect(lab.events.divert(anEvent("llm.error", "1"))).toBe(true);
    lab.at(10_000);
    lab.place = here;
    expect(lab.at(20_000)).toEqual([]);
  });

  test("is reported to that hub, too, when this one ends before the two seconds are over", () => {
    const lab = startAway(here);
    lab.events.piped("1", "bb");
    const payload = { requestId: "1", code: "client_disconnected" };
    lab.events.divert({ ...anEvent("llm.error", "1"), payload });
    lab.isDraining = true;
    lab.events.close();
    expect(lab.said).toEqual(["llm.error 1"]);
    expect(lab.told).toEqual(["1 to bb"]);
  });

  test("is left to that hub when this one stops while it cannot be reached", () => {
    const lab = startAway(here);
    for (const id of ["1", "2"]) lab.events.piped(id, "bb");
    const payload = (requestId: string) => ({ requestId, code: "client_disconnected" });
    lab.events.divert({ ...anEvent("llm.error", "1"), payload: payload("1") });
    Object.assign(lab, { isDraining: true, isLinked: false });
    expect(lab.at(5_000)).toEqual([]);
    lab.isLinked = true;
    expect(lab.at(5_250)).toEqual(["llm.error 1"]);
    lab.events.divert({ ...anEvent("llm.error", "2"), payload: payload("2") });
    lab.isLinked = false;
    lab.events.close();
    expect(lab.said).toHaveLength(1);
  });

  test("is no second end, whatever broke on its way", () => {
    const lab = startAway(here);
    lab.events.piped("1", "bb");
    expect(lab.events.divert(anEvent("llm.error", "1"))).toBe(false);
    lab.events.arrived({ ...anEvent("llm.error", "1"), isLost: true });
    expect(lab.at(5_000)).toEqual([]);
  });
});

describe("a request that its home did not live to end", () => {
  const end = anEvent("llm.error", "1");

  test("is sent to the next home once, as soon as there is one", () => {
    const lab = startAway();
    lab.events.lost(end, one);
    expect(lab.at(4_000)).toEqual([]);
    lab.place = there(other);
    lab.isConnected = false;
    expect(lab.at(4_250)).toEqual([]);
    lab.isConnected = true;
    expect(lab.at(4_500)).toEqual(["llm.error 1 to bb"]);
    expect(lab.at(70_000)).toHaveLength(1);
  });

  test("is not told to the run of a hub that ended with it, but to the next one", () => {
    const lab = startAway(there(one));
    lab.isLinked = false;
    lab.events.lost(end, one);
    expect(lab.at(3_000)).toEqual([]);
    lab.place = there({ ...one, bootId: "a2" });
    expect(lab.at(3_250)).toEqual(["llm.error 1 to aa"]);
  });

  test("is left to a home that lives: only the connection to it broke", () => {
    const lab = startAway(there(one));
    lab.events.lost(end, one);
    expect(lab.at(2_500)).toEqual([]);
    lab.isLinked = false;
    lab.place = here;
    expect(lab.at(20_000)).toEqual([]);
  });

  test("has no second end when its home is killed just after it published one", () => {
    const lab = startAway(there(one));
    lab.events.lost(end, one);
    expect(lab.at(2_250)).toEqual([]);
    lab.events.ended("1");
    lab.isLinked = false;
    lab.place = here;
    expect(lab.at(20_000)).toEqual([]);
  });

  test("has no second end at the home that ended it when a hub between said that the client left", () => {
    const lab = startAway(here);
    lab.events.piped("1", "bb");
    lab.events.left("1");
    expect(lab.events.divert(end)).toBe(false);
    lab.events.arrived({ ...end, isLost: true });
    expect(lab.at(20_000)).toEqual([]);
  });

  test("has no second end when its home said so before the connection broke", () => {
    const lab = startAway(there(one));
    lab.events.ended("1");
    lab.events.lost(end, one);
    lab.isLinked = false;
    lab.place = there(other);
    expect(lab.at(20_000)).toEqual([]);
  });

  test("ends when those who watch the room can hear of it, however soon that is served", () => {
    const lab = startAway(here);
    lab.events.lost(end, one);
    expect(lab.at(2_750)).toEqual([]);
    expect(lab.at(3_000)).toEqual(["llm.error 1"]);
  });

  test("ends a second after the room is served", () => {
    const lab = startAway();
    lab.events.lost(end, one);
    lab.at(4_000);
    lab.place = here;
    expect(lab.at(4_750)).toEqual([]);
    expect(lab.at(5_000)).toEqual(["llm.error 1"]);
  });

  test("has no second end when the home was only silent", () => {
    const lab = startAway(here);
    lab.events.arrived({ ...end, isLost: true });
    lab.events.arrived(anEvent("llm.error", "1"));
    expect(lab.at(4_000)).toEqual(["llm.error 1"]);
  });

  test("is forgotten after a minute in a room that no hub serves", () => {
    const lab = startAway();
    lab.events.lost(end, one);
    lab.at(60_000);
    lab.place = here;
    expect(lab.at(65_000)).toEqual([]);
  });

  test("ends at once when this hub ends", () => {
    const lab = startAway(here);
    lab.events.lost(end, one);
    lab.events.close();
    expect(lab.said).toEqual(["llm.error 1"]);
    expect(lab.at(5_000)).toHaveLength(1);
  });
});
