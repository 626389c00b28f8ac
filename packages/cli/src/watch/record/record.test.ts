import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { Client } from "../../capabilities.ts";
import type { RecordingOptions } from "./recording.ts";
import { aComplete, makeWorld, passing } from "../../test-context.fixture.ts";

/** An event for each id; null stands for one that this version does not know. */
function eventsWith(...ids: [string, HubEvent | null][]): Client["events"] {
  return async function* (_code: string | undefined, options) {
    options?.onOpen?.();
    for (const [id, event] of ids) {
      options?.onEventId?.(id);
      if (event !== null) yield event;
    }
  } as Client["events"];
}

/** Recordings in memory. */
function recordings(lastId?: string) {
  const opened: RecordingOptions[] = [];
  const calls: string[] = [];
  return {
    opened,
    calls,
    openRecording: async (options: RecordingOptions) => {
      opened.push(options);
      return {
        lastId,
        write: (lines: string, day: string | undefined) => void calls.push(`${day} ${lines}`),
        flush: () => void calls.push("flush"),
        close: async () => void calls.push("close"),
      };
    },
  };
}

const { type, timestamp, ...payload } = aComplete;
const recorded = (id: string) => ({ id, name: type, time: timestamp, payload });

function parsed(text: string): unknown[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

test("each event is a line with its id, name, time and payload", async () => {
  const world = makeWorld({}, { events: eventsWith(["b-1", aComplete], ["b-2", aComplete]) });
  expect(await world.run("record", "ABC234")).toBe(0);
  expect(parsed(world.stdout.text)).toEqual([recorded("b-1"), recorded("b-2")]);
  expect(world.stderr.text).toBe("recording room ABC234 of http://127.0.0.1:5050; Ctrl+C stops\n");
});

test("no line has control characters or reordering ones, and its JSON is the event's own", async () => {
  const model = "\u009b2J\u202egnp.exe\u007f\u2028";
  const event = { ...aComplete, model };
  for (const args of [[], ["--out", "lab.ndjson"]]) {
    const { calls, openRecording } = recordings();
    const events = eventsWith(["b-1", event]);
    const world = makeWorld({ openRecording }, { events });
    await world.run("record", "ABC234", ...args);
    const [line = ""] = args.length === 0 ? [world.stdout.text] : calls;
    expect(line.trimEnd()).toMatch(/^[^\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+$/u);
    expect(line).toContain(String.raw`\u009b2J\u202egnp.exe\u007f`);
    expect(JSON.parse(line.slice(line.indexOf("{")))).toMatchObject({ payload: { model } });
  }
});

test("what was missed is a line before the next event, and a repeated event is left out", async () => {
  const events = eventsWith(
    ["b-1", aComplete],
    ["b-1", aComplete],
    ["b-5", null],
    ["b-8", aComplete],
    ["c-2", aComplete],
  );
  const world = makeWorld({}, { events });
  await world.run("record", "ABC234");
  expect(parsed(world.stdout.text)).toEqual([
    recorded("b-1"),
    { gap: { from: "b-1", to: "b-8", missed: 5 } },
    recorded("b-8"),
    { gap: { from: "b-8", to: "c-2", missed: null } },
    recorded("c-2"),
  ]);
  expect(world.stderr.text).toContain("missed events since the last one recorded: 3 events\n");
  expect(world.stderr.text).toContain("the hub restarted\n");
});

test("an event that this version does not know is no gap", async () => {
  const events = eventsWith(["b-1", aComplete], ["b-2", null], ["b-3", aComplete]);
  const world = makeWorld({}, { events });
  await world.run("record", "ABC234");
  expect(parsed(world.stdout.text)).toEqual([recorded("b-1"), recorded("b-3")]);
});

test("a recording that exists is continued: its last id is sent, and what was missed since is a gap", async () => {
  const { openRecording, opened, calls } = recordings("b-1");
  let sentId: string | undefined;
  const events = ((code: string, options: Parameters<Client["events"]>[1]) => {
    sentId = options?.lastEventId;
    return eventsWith(["b-4", aComplete])(code, options);
  }) as Client["events"];
  const world = makeWorld({ openRecording }, { events });
  await world.run("record", "ABC234", "--out", "lab.ndjson", "--max-bytes", "500", "--json");
  expect(sentId).toBe("b-1");
  expect(opened).toEqual([{ path: "lab.ndjson", maxBytes: 500 }]);
  const [written = "", ...after] = calls;
  expect(written).toMatch(/^2026-01-02 \{"gap":\{"from":"b-1","to":"b-4","missed":2\}\}\n\{"id":/);
  expect(after.at(-1)).toBe("close");
  expect(JSON.parse(world.stdout.text)).toEqual({
    file: "lab.ndjson",
    hubUrl: "http://127.0.0.1:5050",
    room: "ABC234",
  });
});

test("a disk that fails after a write ends the recording with its next event", async () => {
  const { openRecording } = recordings();
  const broken = async (options: RecordingOptions) => ({
    ...(await openRecording(options)),
    flush: () => {
      throw new Error("EIO: i/o error");
    },
  });
  const flushes: (() => void)[] = [];
  const events = async function* (_code: string | undefined, options) {
    for (const id of ["b-1", "b-2"]) {
      options?.onEventId?.(id);
      yield aComplete;
      for (const flush of flushes.splice(0)) flush();
    }
  } as Client["events"];
  const after = (_ms: number, callback: () => void) => {
    flushes.push(callback);
    return () => {};
  };
  const world = makeWorld({ openRecording: broken, world: passing({ after }) }, { events });
  expect(await world.run("record", "ABC234", "--out", "lab.ndjson")).toBe(1);
  expect(world.stderr.text).toContain("The recording cannot be written: EIO");
});

test("a file that cannot be written ends the recording, with the next step", async () => {
  const { openRecording } = recordings();
  const full = async (options: RecordingOptions) => ({
    ...(await openRecording(options)),
    write: () => {
      throw new Error("ENOSPC: no space left on device");
    },
  });
  const world = makeWorld({ openRecording: full }, { events: eventsWith(["b-1", aComplete]) });
  expect(await world.run("record", "ABC234", "--out", "lab.ndjson")).toBe(1);
  expect(world.stderr.text).toContain("The recording cannot be written: ENOSPC");
  expect(world.stderr.text).toContain("--out FILE");
});
