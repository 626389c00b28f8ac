import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { Client } from "../capabilities.ts";
import {
  aComplete,
  aFailure,
  aParticipant,
  eventsOf,
  makeWorld,
  passing,
  noTimers,
} from "../test-context.fixture.ts";

test("events of a busy hub are twenty lines of requests a second and their count; others are never left out", async () => {
  const { timestamp, roomCode } = aComplete;
  const participant = aParticipant();
  const joined: HubEvent = { type: "participant.joined", timestamp, roomCode, participant };
  const many = Array.from({ length: 50 }, () => aComplete);
  const client = { events: () => eventsOf(...many, aFailure, joined) };
  const world = makeWorld({ world: passing({ after: noTimers }) }, client);
  expect(await world.run("events")).toBe(0);
  const lines = world.stdout.text.trimEnd().split("\n");
  expect(lines).toHaveLength(22);
  expect(lines.slice(0, 20).every((line) => line.includes("llm.complete"))).toBe(true);
  expect(lines[20]).toContain("participant.joined");
  expect(lines[21]).toBe("… 31 more, 1 failed");
});

test.each([
  ["events", "ABC234", "--quiet"],
  ["usage", "ABC234"],
  ["metrics", "ABC234"],
  ["record", "ABC234"],
])("%s warns about events that the client left out", async (...args) => {
  const events = async function* (_code, options) {
    options?.onInvalidEvent?.("the hub sent llm.complete without a valid metrics");
    yield aComplete;
  } as Client["events"];
  const world = makeWorld({}, { events, listParticipants: async () => [] });
  expect(await world.run(...args)).toBe(0);
  expect(world.stderr.text).toContain("! the hub sent llm.complete without a valid metrics\n");
});

test("events --json leaves nothing out", async () => {
  const many = Array.from({ length: 50 }, () => aComplete);
  const world = makeWorld(
    { world: passing({ after: noTimers }) },
    { events: () => eventsOf(...many) },
  );
  await world.run("events", "--json");
  expect(world.stdout.text.trimEnd().split("\n")).toHaveLength(50);
});

test.each([[[]], [["--json"]]])(
  "events --quiet %j prints failed requests, offline participants and broken streams",
  async (args) => {
    const { timestamp, roomCode } = aComplete;
    const cancelled = { ...aFailure, code: "client_disconnected" } as HubEvent;
    const who = { participantId: "ana-llama3", nickname: "Ana" };
    const offline: HubEvent = { ...who, timestamp, roomCode, type: "participant.offline" };
    const events: Client["events"] = async function* (_code, options) {
      options?.onOpen?.();
      yield* [aComplete, aFailure, cancelled];
      options?.onDisconnect?.("ECONNRESET", 1_000);
      options?.onOpen?.();
      yield offline;
    };
    const world = makeWorld({}, { events });
    expect(await world.run("events", "--quiet", ...args)).toBe(0);
    const lines = world.stdout.text.trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain("No participant serves gpt-9");
    expect(lines[1]).toContain("participant.offline");
    expect(world.stderr.text).toBe(
      "disconnected: ECONNRESET; retrying in 1.0 s\nwatching http://127.0.0.1:5050\n",
    );
  },
);
