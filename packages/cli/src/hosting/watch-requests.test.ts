import { expect, test } from "vitest";
import type { HubEvent } from "@roomhub/protocol";
import type { RunningHub } from "../capabilities.ts";
import { aComplete, aFailure, aParticipant, makeWorld } from "../test-context.fixture.ts";
import { watchRequests } from "./watch-requests.ts";

/** A hub of this process whose events the test emits. */
function watching(options: Parameters<typeof watchRequests>[3] = {}) {
  const listeners = new Map<Parameters<RunningHub["watch"]>[1], string>();
  const watch: RunningHub["watch"] = (room, listener) => {
    listeners.set(listener, room);
    return () => listeners.delete(listener);
  };
  const world = makeWorld();
  const stop = watchRequests(world.context, { watch }, "ABC234", options);
  return {
    ...{ world, stop },
    rooms: () => [...listeners.values()],
    tell: (...events: HubEvent[]) => {
      for (const listener of listeners.keys()) listener(events);
    },
    /** Without the line of headings. */
    rows: () => world.stdout.text.trimEnd().split("\n").slice(1),
  };
}

test("a busy room is twenty rows, and one that counts the rest and what of it failed", () => {
  const { tell, stop, rows } = watching();
  const cancelled = { ...aFailure, code: "client_disconnected" } as HubEvent;
  tell(...Array.from({ length: 25 }, () => aComplete));
  tell(...Array.from({ length: 407 }, (_, index) => (index % 2 === 0 ? aFailure : cancelled)));
  stop();
  expect(rows()).toHaveLength(21);
  expect(rows().at(-1)).toBe("… 412 more, 204 failed");
});

test("requests that the hub logs are not shown a second time, participants are", () => {
  const { tell, stop, world } = watching({ isLogged: true });
  const { timestamp, roomCode } = aComplete;
  const who = { participantId: "bea-qwen3", nickname: "Bea" };
  tell(aComplete, { ...who, timestamp, roomCode, type: "participant.left" });
  stop();
  expect(world.stdout.text).toMatch(/^\S+ {2}bea-qwen3 left\n$/);
});

test("participants joining and leaving are shown however busy the room is", () => {
  const { tell, stop, world } = watching();
  tell(...Array.from({ length: 100 }, () => aComplete));
  const who = { participantId: "bea-qwen3", nickname: "Bea" };
  const { timestamp, roomCode } = aComplete;
  tell({ ...who, timestamp, roomCode, type: "participant.left" });
  stop();
  expect(world.stdout.text).toContain("bea-qwen3 left\n");
});

test("a participant that loses its connection is shown, and how long it was lost once it is back", () => {
  const { tell, stop, world } = watching();
  const { timestamp, roomCode } = aComplete;
  const at = (ms: number) => new Date(Date.parse(timestamp) + ms).toISOString();
  const bea = aParticipant({ id: "bea" });
  const updated = (ms: number, connection: Partial<typeof bea.connection>): HubEvent => {
    const participant = { ...bea, connection: { ...bea.connection, ...connection } };
    return { type: "participant.updated", timestamp: at(ms), roomCode, participant };
  };
  const lost = (ms: number, sinceMs: number) =>
    updated(ms, { connected: false, resuming: { streams: 3, sinceMs } });
  tell(updated(0, {}), lost(10, 0), lost(1_010, 1_000));
  tell({ ...aFailure, participantId: "bea" } as HubEvent);
  tell(updated(2_110, {}), updated(3_000, {}));
  tell(lost(4_000, 500), updated(6_000, { connected: false, path: "none" }));
  stop();
  const lines = world.stdout.text.split("\n").filter((line) => line.includes("bea: "));
  expect(lines.map((line) => line.slice(line.indexOf("bea")))).toEqual([
    "bea: connection lost, 3 streams waiting",
    "bea: back after 2.1 s, 2 streams go on",
    "bea: connection lost, 3 streams waiting",
    "bea: not back after 2.5 s, its streams ended",
  ]);
});

test("a stand-in that leaves requests to others is shown, and that they are its own again", () => {
  const { tell, stop, world } = watching({ standIn: "ana-demo" });
  const { timestamp, roomCode } = aComplete;
  const event = (type: "joined" | "updated", id: string, fields: object): HubEvent => {
    const { connection, ...rest } = aParticipant({ id, ...fields });
    const readiness = "readiness" in fields ? fields.readiness : connection.readiness;
    const participant = { ...rest, connection: { ...connection, readiness } };
    return { type: `participant.${type}`, timestamp, roomCode, participant } as HubEvent;
  };
  const who = (id: string) => ({ timestamp, roomCode, participantId: id, nickname: id });
  const chatCompletions = "unsupported";
  tell(event("updated", "ana-demo", { standIn: true }));
  tell(event("joined", "emb", { capabilities: { openResponses: "unknown", chatCompletions } }));
  tell(event("joined", "bea", { readiness: "down" }), event("updated", "bea", {}));
  tell(event("joined", "cy", {}));
  tell({ ...who("bea"), type: "participant.left" });
  tell(event("updated", "cy", { readiness: "loading" }));
  tell({ ...who("cy"), type: "participant.offline" }, event("updated", "cy", {}));
  tell({ ...who("ana-demo"), type: "participant.left" }, event("joined", "dee", {}));
  tell({ ...who("cy"), type: "participant.left" }, { ...who("dee"), type: "participant.left" });
  stop();
  const lines = world.stdout.text.split("\n").filter((line) => line.includes("*"));
  expect(lines.map((line) => line.slice(line.indexOf("ana-demo")))).toEqual([
    "ana-demo leaves requests for * to bea",
    "ana-demo serves requests for * again",
    "ana-demo leaves requests for * to cy",
  ]);
});

test("as JSON every event is a line", () => {
  const { tell, world } = watching({ json: true });
  tell(...Array.from({ length: 100 }, () => aComplete));
  const lines = world.stdout.text.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(lines.map(() => aComplete));
  expect(lines).toHaveLength(100);
});

test("the room is watched until that is stopped, and not at all where nothing is shown", () => {
  const shown = watching();
  expect(shown.rooms()).toEqual(["ABC234"]);
  shown.stop();
  expect(shown.rooms()).toEqual([]);
  expect(watching({ quiet: true }).rooms()).toEqual([]);
});
