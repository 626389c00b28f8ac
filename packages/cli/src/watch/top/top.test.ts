import { HubUnreachableError } from "@roomhub/client";
import type { HubEvent } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import type { Client } from "../../capabilities.ts";
import type { CliContext } from "../../context.ts";
import type { SuspendedScreen } from "../../terminal/terminal.ts";
import {
  aComplete,
  aFailure,
  aParticipant,
  aRoom,
  capture,
  eventsOf,
  makeWorld,
  passing,
  noTimers,
  type After,
} from "../../test-context.fixture.ts";
import { untilSaid } from "../../snapshots/session.fixture.ts";

const lists: Partial<Client> = {
  getRoom: async () => aRoom(),
  listParticipants: async () => [aParticipant()],
  listRequests: async () => [],
};
const entered = "\u001b[?1049h";
const left = "\u001b[?7h\u001b[?25h\u001b[?1049l";

/** Timers that run when the test says so. */
function handClock() {
  const pending = new Set<() => void>();
  const after: After = (_ms, callback) => {
    pending.add(callback);
    return () => pending.delete(callback);
  };
  const tick = () => {
    const due = [...pending];
    pending.clear();
    for (const callback of due) callback();
  };
  return { after, tick, pending };
}

/** Events that end when the command is stopped. */
function until(events: ReturnType<typeof eventsOf>): Client["events"] {
  return async function* (_code: unknown, options: Parameters<Client["events"]>[1]) {
    options?.onOpen?.();
    for await (const event of events) yield event;
    await new Promise<void>((resolve) => {
      options?.signal?.addEventListener("abort", () => resolve());
    });
  } as Client["events"];
}

/** All that is ready has been read. */
async function untilRead(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

function aScreen(client: Partial<Client> = { events: until(eventsOf(aComplete)) }) {
  const clock = handClock();
  const stdout = capture(80, 24);
  const world = makeWorld(
    { stdout, world: passing({ after: clock.after }), env: { NO_COLOR: "1" } },
    { ...lists, ...client },
  );
  return { world, stdout, ...clock };
}

describe("on a terminal", () => {
  test.each([["q"], ["Q"]])("%s quits and restores the screen", async (key) => {
    const { world, stdout, tick, pending } = aScreen();
    const running = world.run("top", "ABC234");
    await untilSaid(world, entered);
    await untilRead();
    tick();
    expect(stdout.text.startsWith(entered)).toBe(true);
    expect(stdout.text).toContain("lab (ABC234)");
    expect(stdout.text).toContain("ana-llama3");
    expect(stdout.text).toContain("alice: llama3 at ana-llama3, 80 tokens in 2.4 s");
    world.press(key);
    expect(await running).toBe(0);
    expect(stdout.text.endsWith(left)).toBe(true);
    expect(pending.size).toBe(0);
  });

  test("? explains what is shown, and shows the room again", async () => {
    const { world, stdout, tick } = aScreen();
    const running = world.run("top", "ABC234");
    await untilSaid(world, entered);
    await untilRead();
    tick();
    expect(stdout.text).toContain("q quit  ? what is shown  Ctrl+L draw again");
    expect(stdout.text).not.toContain("busy with other work");
    world.press("?");
    tick();
    expect(stdout.text).toContain("█ busy with this room, ▒ busy with other work, · free");
    const titles = () => stdout.text.split("lab (ABC234)").length;
    const before = titles();
    world.press("?");
    tick();
    expect(titles()).toBe(before + 1);
    world.stop();
    await running;
  });

  test("Ctrl+C restores the screen before anything else happens", async () => {
    const { world, stdout } = aScreen();
    const running = world.run("top", "ABC234");
    await untilSaid(world, entered);
    world.stop();
    expect(stdout.text.endsWith(left)).toBe(true);
    expect(await running).toBe(0);
  });

  test("nothing is written while nothing changes", async () => {
    const { world, stdout, tick } = aScreen();
    const running = world.run("top", "ABC234");
    await untilSaid(world, entered);
    tick();
    await untilRead();
    tick();
    const { length } = stdout.text;
    tick();
    tick();
    expect(stdout.text.length).toBe(length);
    world.stop();
    await running;
  });

  test("Ctrl+Z leaves the screen, and the program draws it again when it continues", async () => {
    let suspended: SuspendedScreen | undefined;
    const clock = handClock();
    const stdout = capture(80, 24);
    let isReleased = false;
    const onKey: CliContext["onKey"] = (_listener, screen) => {
      suspended = screen;
      return () => {
        isReleased = true;
      };
    };
    const client = { ...lists, events: until(eventsOf()) };
    const world = makeWorld({ stdout, world: passing({ after: clock.after }), onKey }, client);
    const running = world.run("top", "ABC234");
    await untilSaid(world, entered);
    suspended?.leave();
    expect(stdout.text.endsWith(left)).toBe(true);
    suspended?.enter();
    clock.tick();
    expect(stdout.text.split(entered)).toHaveLength(3);
    expect(stdout.text.split("PARTICIPANT")).toHaveLength(5);
    world.stop();
    await running;
    expect(isReleased).toBe(true);
    suspended?.enter();
    expect(stdout.text.endsWith(left)).toBe(true);
  });

  test("an error at the start is an ordinary line", async () => {
    const away = new HubUnreachableError("http://127.0.0.1:5050", new Error("ECONNREFUSED"));
    // oxlint-disable-next-line require-yield -- it fails before it could
    const events = async function* () {
      throw away;
    } as Client["events"];
    const { world, stdout } = aScreen({ events });
    expect(await world.run("top", "ABC234")).toBe(5);
    expect(stdout.text).toBe("");
    expect(world.stderr.text).toContain("127.0.0.1:5050");
  });
});

describe("in a pipe", () => {
  test("each change is a line", async () => {
    const joined = {
      ...inRoom,
      type: "participant.joined",
      participant: aParticipant({ id: "bea" }),
    } as const;
    const world = makeWorld(
      { world: passing({ after: noTimers, nowMs: () => new Date(2026, 0, 2, 12).getTime() }) },
      { ...lists, events: opened(joined, aComplete, aFailure) },
    );
    expect(await world.run("top", "ABC234")).toBe(0);
    expect(world.stderr.text).toBe("watching room ABC234\n");
    expect(world.stdout.text.split("\n")).toEqual([
      "12:00:00 bea joined with llama3",
      "12:00:00 alice: llama3 at ana-llama3, 80 tokens in 2.4 s",
      "12:00:00 -: gpt-9, failed (routing): No participant serves gpt-9",
      "",
    ]);
  });

  test("and on a terminal that cannot move its cursor", async () => {
    const stdout = capture(80);
    const world = makeWorld(
      { stdout, world: passing({ after: noTimers }), env: { TERM: "dumb" } },
      { ...lists, events: opened(aComplete) },
    );
    expect(await world.run("top", "ABC234")).toBe(0);
    expect(stdout.text).not.toContain("\u001b");
    expect(stdout.text).toContain("80 tokens");
  });

  const inRoom = { timestamp: aComplete.timestamp, roomCode: aComplete.roomCode };
});

describe("without a room", () => {
  test("the hub's only room is shown", async () => {
    const codes: unknown[] = [];
    const client: Partial<Client> = {
      ...lists,
      listRooms: async () => [aRoom()],
      events: ((code: string) => {
        codes.push(code);
        return eventsOf();
      }) as Client["events"],
    };
    expect(await makeWorld({}, client).run("top")).toBe(0);
    expect(codes).toEqual(["ABC234"]);
  });

  test("several rooms are listed, each with its command", async () => {
    const listRooms = async () => [aRoom(), aRoom({ code: "XYZ789", name: "den" })];
    const world = makeWorld({}, { listRooms });
    expect(await world.run("top")).toBe(2);
    expect(world.stderr.text).toContain("roomhub top http://127.0.0.1:5050/rooms/XYZ789");
  });

  test("a hub without rooms is an error", async () => {
    expect(await makeWorld({}, { listRooms: async () => [] }).run("top")).toBe(3);
  });
});

/** A stream that opens, and ends after these events. */
function opened(...events: HubEvent[]): Client["events"] {
  return async function* (_code: unknown, options: Parameters<Client["events"]>[1]) {
    options?.onOpen?.();
    yield* events;
  } as Client["events"];
}
