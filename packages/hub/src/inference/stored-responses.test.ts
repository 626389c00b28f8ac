import { describe, expect, test } from "vitest";
import { aParticipant, aRoom } from "../domain/room.fixture.ts";
import { StoredResponses } from "./stored-responses.ts";

const ada = aParticipant({ id: "ada" });
const bob = aParticipant({ id: "bob" });

describe("who made a response", () => {
  test("is found by its id, in its own room only", () => {
    const makers = new StoredResponses(10);
    const [room, other] = [aRoom(ada, bob), aRoom(ada, bob)];
    makers.remember(room, "resp_1", ada);
    makers.remember(room, "resp_2", bob);
    expect(makers.holderOf(room, "resp_1")).toBe(ada);
    expect(makers.holderOf(room, "resp_2")).toBe(bob);
    expect(makers.holderOf(room, "resp_3")).toBeUndefined();
    expect(makers.holderOf(other, "resp_1")).toBeUndefined();
  });

  test("is undefined once the participant left, though another took its id", () => {
    const makers = new StoredResponses(10);
    const room = aRoom(ada);
    makers.remember(room, "resp_1", ada);
    room.participants.set("ada", aParticipant({ id: "ada" }));
    expect(makers.holderOf(room, "resp_1")).toBeUndefined();
    room.participants.delete("ada");
    expect(makers.holderOf(room, "resp_1")).toBeUndefined();
  });

  test("is forgotten beyond the limit, the longest unused first", () => {
    const makers = new StoredResponses(2);
    const room = aRoom(ada);
    makers.remember(room, "resp_1", ada);
    makers.remember(room, "resp_2", ada);
    expect(makers.holderOf(room, "resp_1")).toBe(ada);
    makers.remember(room, "resp_3", ada);
    expect(makers.holderOf(room, "resp_2")).toBeUndefined();
    expect(makers.holderOf(room, "resp_1")).toBe(ada);
    expect(makers.holderOf(room, "resp_3")).toBe(ada);
  });

  test("is not remembered where nothing may be", () => {
    const room = aRoom(ada);
    const none = new StoredResponses(0);
    none.remember(room, "resp_1", ada);
    expect(none.holderOf(room, "resp_1")).toBeUndefined();
  });
});
