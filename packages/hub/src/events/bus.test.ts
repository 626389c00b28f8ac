import {
  createSseReader,
  DETAIL_EVENT_NAMES,
  EVENT_NAMES,
  type EventPayloads,
  type HubEvent,
  type Room,
} from "@roomhub/protocol";
import { array, assert, boolean, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { createLog } from "../log.ts";
import type { Subscriber } from "./audience.ts";
import { EventBus } from "./bus.ts";
import { createEmitter } from "./emit.ts";

class Watcher implements Subscriber {
  readonly spelling: "colon" | "dot";
  readonly isDetailed: boolean;
  readonly wires: string[] = [];
  retryMs: number | undefined;

  constructor(spelling: "colon" | "dot" = "dot", isDetailed = false) {
    this.spelling = spelling;
    this.isDetailed = isDetailed;
  }

  deliver(wire: Buffer): void {
    this.wires.push(wire.toString());
  }

  end(retryMs: number): void {
    this.retryMs = retryMs;
  }

  /** Each event as a client reads it. */
  get events() {
    const found: { id: string | undefined; event: string | undefined; data: unknown }[] = [];
    createSseReader(({ id, event, data }) =>
      found.push({ id, event, data: JSON.parse(data) as unknown }),
    ).feed(this.wires.join(""));
    return found;
  }
}

const left = { participantId: "ada", nickname: "Ada" };
const timestamp = "2026-01-02T03:04:05.678Z";
const at = () => timestamp;

function published(bus: EventBus, roomCode = "ABC234"): void {
  bus.publish(roomCode, "participant.left", at, left);
}

describe("an event", () => {
  test("goes on the wire with id, name and one line of data", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const watcher = new Watcher();
    bus.subscribe("ABC234", watcher);
    published(bus);
    expect(watcher.wires).toEqual([
      `id: boot1-1\nevent: participant.left\ndata: {"type":"participant.left","timestamp":"${timestamp}","roomCode":"ABC234","participantId":"ada","nickname":"Ada"}\n\n`,
    ]);
  });

  test("is spelled with colons for one family and with dots for the other, its type alike", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const [colon, dot] = [new Watcher("colon"), new Watcher("dot")];
    bus.subscribe("ABC234", colon);
    bus.subscribe("ABC234", dot);
    for (const name of EVENT_NAMES) bus.publish("ABC234", name, at, {} as never);
    expect(dot.events.map(({ event }) => event)).toEqual(EVENT_NAMES);
    expect(colon.events.map(({ event }) => event)).toEqual(
      EVENT_NAMES.map((name) => name.replace(".", ":")),
    );
    for (const { event, data } of [...colon.events, ...dot.events]) {
      expect(data).toMatchObject({ type: event });
    }
  });

  test("whatever its texts hold, is exactly one event with the same texts", () => {
    assert(
      property(array(integer({ min: 0, max: 0xff_ff })), (units) => {
        const text = String.fromCharCode(...units);
        const bus = new EventBus("boot1", (flush) => flush());
        const watcher = new Watcher();
        bus.subscribe("ABC234", watcher);
        const nickname = `${text}\r\n\r\ndata: forged\u2028\u0000`;
        bus.publish("ABC234", "participant.left", at, { participantId: text, nickname });
        expect(watcher.events).toHaveLength(1);
        expect(watcher.events[0]?.data).toMatchObject({ participantId: text, nickname });
      }),
    );
  });
});

describe("who hears what", () => {
  test("a room's watchers get the events of their room; the hub-wide ones get all", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const [room, other, all] = [new Watcher(), new Watcher(), new Watcher()];
    bus.subscribe("ABC234", room);
    bus.subscribe("XYZ987", other);
    bus.subscribe(undefined, all);
    published(bus);
    published(bus, "XYZ987");
    published(bus);
    expect(room.events.map(({ id }) => id)).toEqual(["boot1-1", "boot1-2"]);
    expect(other.events.map(({ id }) => id)).toEqual(["boot1-1"]);
    expect(all.events.map(({ id }) => id)).toEqual(["boot1-1", "boot1-2", "boot1-3"]);
  });

  test("events without a subscriber were counted too", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    published(bus);
    const watcher = new Watcher();
    bus.subscribe("ABC234", watcher);
    published(bus);
    expect(watcher.events.map(({ id }) => id)).toEqual(["boot1-2"]);
  });

  test("a watcher that has stopped gets nothing, however often it stops", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const [stopped, stays] = [new Watcher(), new Watcher()];
    const stop = bus.subscribe("ABC234", stopped);
    stop();
    const keep = bus.subscribe("ABC234", stays);
    stop();
    published(bus);
    expect([stopped.wires.length, stays.wires.length]).toEqual([0, 1]);
    expect(bus.subscriberCount("ABC234")).toBe(1);
    keep();
    expect(bus.subscriberCount("ABC234")).toBe(0);
  });

  test("stopping in the middle of a delivery disturbs no other", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const leaving = new Watcher();
    const after = new Watcher();
    const stop = bus.subscribe("ABC234", leaving);
    leaving.deliver = () => stop();
    bus.subscribe("ABC234", after);
    published(bus);
    expect(after.wires).toHaveLength(1);
  });

  test("a replay is the first event of a room, for one watcher", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const [late, other] = [new Watcher("colon"), new Watcher()];
    bus.subscribe("ABC234", other);
    const room = { code: "ABC234" } as Room;
    bus.replay(late, "ABC234", "room.created", timestamp, { room });
    expect(late.events).toMatchObject([
      { id: "boot1-1", event: "room:created", data: { type: "room:created", timestamp, room } },
    ]);
    expect(other.wires).toEqual([]);
  });

  test("when a room is dropped its streams end, and no others", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const [room, other, all] = [new Watcher(), new Watcher(), new Watcher()];
    bus.subscribe("ABC234", room);
    bus.subscribe("XYZ987", other);
    bus.subscribe(undefined, all);
    bus.endRoom("ABC234", 60_000);
    expect([room.retryMs, other.retryMs, all.retryMs]).toEqual([60_000, undefined, undefined]);
  });

  test("a room counts as created here from its room.created until it is dropped, a loaded one never", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    published(bus, "XYZ987");
    bus.publish("ABC234", "room.created", at, { room: {} as Room });
    expect([bus.hasCreated("ABC234"), bus.hasCreated("XYZ987")]).toEqual([true, false]);
    bus.endRoom("ABC234", 5);
    expect(bus.hasCreated("ABC234")).toBe(false);
  });

  test("when the hub stops every stream ends, each with its own pause", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const watchers = [new Watcher(), new Watcher(), new Watcher()];
    bus.subscribe("ABC234", watchers[0]!);
    bus.subscribe("XYZ987", watchers[1]!);
    bus.subscribe(undefined, watchers[2]!);
    let pause = 1_000;
    bus.endAll(() => pause++);
    expect(new Set(watchers.map((one) => one.retryMs))).toEqual(new Set([1_000, 1_001, 1_002]));
  });
});

describe("a listener in this process", () => {
  test("gets a room's events as values, those of one flush together, until it stops", () => {
    const turns: (() => void)[] = [];
    const bus = new EventBus("boot1", (flush) => turns.push(flush));
    const heard: (readonly HubEvent[])[] = [];
    const stop = bus.listen("ABC234", (events) => heard.push(events));
    published(bus);
    published(bus, "XYZ987");
    published(bus);
    expect(heard).toEqual([]);
    for (const flush of turns.splice(0)) flush();
    const event = { type: "participant.left", timestamp, roomCode: "ABC234", ...left };
    expect(heard).toEqual([[event, event]]);
    stop();
    published(bus);
    for (const flush of turns.splice(0)) flush();
    expect(heard).toHaveLength(1);
  });

  test("costs no encoding, and is no subscriber", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    bus.listen("ABC234", () => undefined);
    const payload = { ...left, toJSON: () => expect.fail("no subscriber reads the wire") };
    bus.publish("ABC234", "participant.left", at, payload);
    expect(bus.subscriberCount("ABC234")).toBe(0);
  });

  test("gets the same as the watchers of the wire, and stays when they leave", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const watcher = new Watcher();
    const heard: HubEvent[] = [];
    bus.listen("ABC234", (events) => heard.push(...events));
    const leave = bus.subscribe("ABC234", watcher);
    published(bus);
    leave();
    published(bus);
    expect(watcher.events.map(({ data }) => data)).toEqual(heard.slice(0, 1));
    expect(heard).toHaveLength(2);
  });

  test("gets what waited when the hub stops", () => {
    const bus = new EventBus("boot1", () => undefined);
    const heard: HubEvent[] = [];
    bus.listen("ABC234", (events) => heard.push(...events));
    published(bus);
    bus.endAll(() => 1_000);
    expect(heard).toHaveLength(1);
  });
});

describe("what happens between two flushes", () => {
  test("reaches each watcher in one piece, in order, and none that came later", () => {
    const turns: (() => void)[] = [];
    const bus = new EventBus("boot1", (flush) => turns.push(flush));
    const [early, everywhere, late] = [new Watcher(), new Watcher("colon"), new Watcher()];
    bus.subscribe("ABC234", early);
    bus.subscribe(undefined, everywhere);
    published(bus);
    published(bus, "XYZ789");
    published(bus);
    expect(early.wires).toEqual([]);
    bus.subscribe("ABC234", late);
    published(bus);
    for (const flush of turns) flush();
    expect(turns).toHaveLength(1);
    expect(early.events.map(({ id }) => id)).toEqual(["boot1-1", "boot1-2", "boot1-3"]);
    expect(late.events.map(({ id }) => id)).toEqual(["boot1-3"]);
    expect(everywhere.wires).toHaveLength(1);
    expect(everywhere.events).toHaveLength(4);
  });

  test("schedules one flush, however many events there are, and for another after it", () => {
    const turns: (() => void)[] = [];
    const bus = new EventBus("boot1", (flush) => turns.push(flush));
    const watcher = new Watcher();
    bus.subscribe("ABC234", watcher);
    for (const count of [1, 2]) {
      for (let event = 0; event < 5; event++) published(bus);
      expect(turns).toHaveLength(count);
      turns.at(-1)?.();
      expect(watcher.wires).toHaveLength(count);
    }
  });

  test("does not wait for the flush once it is long", () => {
    const bus = new EventBus("boot1", () => undefined);
    const watcher = new Watcher();
    bus.subscribe("ABC234", watcher);
    for (let count = 0; count < 1_000; count++) published(bus);
    const lengths = watcher.wires.map((wire) => wire.length);
    expect(Math.min(...lengths)).toBeGreaterThan(64 * 1024);
    expect(Math.max(...lengths)).toBeLessThan(65 * 1024);
    bus.endRoom("ABC234", 5);
    expect(watcher.events).toHaveLength(1_000);
  });

  test("is the same bytes for all, however many they are", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const wires: Buffer[] = [];
    for (const spelling of ["dot", "dot", "colon"] as const) {
      bus.subscribe("ABC234", {
        spelling,
        isDetailed: false,
        deliver: (wire) => void wires.push(wire),
        end: () => undefined,
      });
    }
    published(bus);
    expect(new Set(wires).size).toBe(2);
  });

  test("is delivered before a stream ends", () => {
    const bus = new EventBus("boot1", () => undefined);
    const watcher = new Watcher();
    bus.subscribe("ABC234", watcher);
    published(bus);
    bus.endRoom("ABC234", 5);
    expect([watcher.wires.length, watcher.retryMs]).toEqual([1, 5]);
  });
});

describe("a watcher of detail", () => {
  const queued = {
    requestId: "req_1",
    selector: "*",
    protocol: "chatCompletions",
    client: { kind: "none", id: "" },
    place: 2,
  } as const;

  test.each(["dot", "colon"] as const)(
    "gets further events with %s names and without ids among all others, in order",
    (spelling) => {
      const bus = new EventBus("boot1", (flush) => flush());
      const watchers = [new Watcher(spelling, true), new Watcher(spelling, true)];
      bus.subscribe("ABC234", watchers[0]!);
      bus.subscribe(undefined, watchers[1]!);
      published(bus);
      bus.publishDetail("ABC234", "request.queued", at, queued);
      published(bus);
      const name = spelling === "dot" ? "request.queued" : "request:queued";
      const data = { type: name, timestamp, roomCode: "ABC234", ...queued };
      for (const { wires, events } of watchers) {
        expect(wires[1]).toBe(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
        expect(events[1]).toMatchObject({ event: name, data });
        expect(wires.map((wire) => /^id: (.*)$/m.exec(wire)?.[1])).toEqual([
          ...["boot1-1", undefined, "boot1-2"],
        ]);
      }
    },
  );

  test("changes nothing for watchers without detail, other rooms and listeners", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const [plain, everywhere, other] = [new Watcher(), new Watcher(), new Watcher("dot", true)];
    const heard: HubEvent[] = [];
    bus.subscribe("ABC234", plain);
    bus.subscribe(undefined, everywhere);
    bus.subscribe("XYZ987", other);
    bus.listen("ABC234", (events) => heard.push(...events));
    const before = new Watcher("dot", true);
    bus.subscribe("ABC234", before);
    bus.publishDetail("ABC234", "request.queued", at, queued);
    expect(before.events).toHaveLength(1);
    expect([plain.wires, everywhere.wires, other.wires, heard]).toEqual([[], [], [], []]);
    published(bus);
    expect(plain.wires).toEqual(before.wires.slice(1));
    expect([everywhere.wires.length, heard.length]).toEqual([1, 1]);
  });

  test("is known to what runs while it watches, and no longer", () => {
    const bus = new EventBus("boot1", (flush) => flush());
    const { detail } = bus;
    bus.subscribe("ABC234", new Watcher());
    expect(detail.isWatched).toBe(false);
    const stops = ["ABC234", undefined].map((room) =>
      bus.subscribe(room, new Watcher("dot", true)),
    );
    for (const stop of stops) {
      expect(detail.isWatched).toBe(true);
      stop();
      stop();
    }
    expect(detail.isWatched).toBe(false);
  });

  test("of any number that come and go gets what happens while it is subscribed, and is counted once", () => {
    const step = record({
      kind: constantFrom("come" as const, "go" as const, "event" as const, "detail" as const),
      spelling: constantFrom("dot" as const, "colon" as const),
      isDetailed: boolean(),
      isHubWide: boolean(),
      which: integer({ min: 0, max: 5 }),
    });
    assert(
      property(array(step, { maxLength: 60 }), (steps) => {
        const bus = new EventBus("boot1", (flush) => flush());
        const here: { watcher: Watcher; stop: () => void; expected: string[] }[] = [];
        for (const { kind, spelling, isDetailed, isHubWide, which } of steps) {
          if (kind === "come") {
            const watcher = new Watcher(spelling, isDetailed);
            const stop = bus.subscribe(isHubWide ? undefined : "ABC234", watcher);
            here.push({ watcher, stop, expected: [] });
          }
          if (kind === "go") for (const { stop } of here.splice(which, 1)) stop();
          if (kind === "event") published(bus);
          if (kind === "detail") bus.publishDetail("ABC234", "request.queued", at, queued);
          for (const { watcher, expected } of here) {
            if (kind === "event") expected.push("participant.left");
            if (kind === "detail" && watcher.isDetailed) expected.push("request.queued");
            const names = watcher.events.map(({ event }) => event?.replace(":", "."));
            expect(names).toEqual(expected);
          }
          const count = bus.subscriberCount("ABC234") + bus.subscriberCount(undefined);
          expect(count).toBe(here.length);
          expect(bus.detail.isWatched).toBe(here.some(({ watcher }) => watcher.isDetailed));
        }
      }),
    );
  });
});

describe("the emitter", () => {
  function watched() {
    const bus = new EventBus("boot1", (flush) => flush());
    const watcher = new Watcher();
    bus.subscribe("ABC234", watcher);
    const lines: string[] = [];
    const time = { ms: 5_000 };
    const emit = createEmitter(
      bus,
      createLog("text", (line) => lines.push(String(line))),
      () => 0,
      () => time.ms,
    );
    return { emit, watcher, lines, time, ...{ bus } };
  }

  test("has a method for each of the eight events", () => {
    const { emit, watcher } = watched();
    emit.roomCreated({ code: "ABC234", createdAt: 0 } as Room);
    emit.participantJoined("ABC234", {} as never);
    emit.participantUpdated("ABC234", {} as never);
    emit.participantLeft("ABC234", left);
    emit.participantOffline("ABC234", left);
    emit.llmRequest("ABC234", {} as never);
    emit.llmComplete("ABC234", { metrics: {} } as never);
    emit.llmError("ABC234", {} as never, 500);
    expect(new Set(watcher.events.map(({ event }) => event))).toEqual(new Set(EVENT_NAMES));
    expect(watcher.events).toHaveLength(EVENT_NAMES.length);
    for (const { data } of watcher.events) {
      expect(data).toMatchObject({ timestamp: "1970-01-01T00:00:00.000Z", roomCode: "ABC234" });
    }
  });

  test("has a method for each event of detail, and writes no line of them", () => {
    const { emit, bus, lines } = watched();
    const watcher = new Watcher("dot", true);
    bus.subscribe("ABC234", watcher);
    emit.requestQueued("ABC234", {} as never);
    emit.requestFirst("ABC234", {} as never);
    emit.requestProgress("ABC234", {} as never);
    expect(watcher.events.map(({ event }) => event)).toEqual(DETAIL_EVENT_NAMES);
    expect(lines).toEqual([]);
  });

  test("drops what a room's requests show of their progress beyond 200 in a second", () => {
    const { emit, bus, time } = watched();
    const [watcher, other] = [new Watcher("dot", true), new Watcher("dot", true)];
    bus.subscribe("ABC234", watcher);
    bus.subscribe("XYZ987", other);
    const show = (room: string) => emit.requestProgress(room, { requestId: "a", outputTokens: 1 });
    for (let count = 1; count <= 200; count++) expect(show("ABC234")).toBe(true);
    time.ms += 999;
    expect(show("ABC234")).toBe(false);
    expect(show("XYZ987")).toBe(true);
    time.ms += 1;
    expect(show("ABC234")).toBe(true);
    expect([watcher.events.length, other.events.length]).toEqual([201, 1]);
  });

  test("writes one console line per llm event, and none for the others", () => {
    const { emit, lines, watcher } = watched();
    const ids = { requestId: "req_1", participantId: "ada", model: "m", selector: "*" } as const;
    emit.participantLeft("ABC234", left);
    const client = { kind: "name", id: "alice" } as const;
    emit.llmRequest("ABC234", { ...ids, protocol: "chatCompletions", client, attempt: 1 });
    const metrics = { ttftMs: 1, durationMs: 2 };
    const common = {
      ...ids,
      protocol: "chatCompletions",
      client: { kind: "none", id: "" },
      attempts: 1,
      queueMs: 0,
    } as const;
    emit.llmComplete("ABC234", { ...common, metrics });
    const failed: EventPayloads["llm.error"] = {
      ...common,
      participantId: null,
      nickname: null,
      endpoint: null,
      stage: "routing",
      error: "lost\n[service] llm.complete",
      code: "participant_offline",
    };
    emit.llmError("ABC234", failed, 503);
    expect(lines).toEqual([
      '[service] llm.request roomCode="ABC234" requestId="req_1" participantId="ada" model="m" selector="*" protocol="chatCompletions" client="alice" attempt=1\n',
      '[service] llm.complete roomCode="ABC234" requestId="req_1" participantId="ada" model="m" selector="*" protocol="chatCompletions" attempts=1 queueMs=0 ttftMs=1 durationMs=2\n',
      '[service] llm.error roomCode="ABC234" requestId="req_1" participantId=null model="m" selector="*" protocol="chatCompletions" attempts=1 queueMs=0 nickname=null endpoint=null stage="routing" error="lost\\n[service] llm.complete" code="participant_offline" status=503\n',
    ]);
    expect(watcher.events.at(-1)?.data).not.toHaveProperty("status");
    expect(watcher.events.at(-2)?.data).toMatchObject({ metrics });
  });
});
