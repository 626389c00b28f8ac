import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { Client } from "../../capabilities.ts";
import { aComplete, aFailure, capture, makeWorld, passing } from "../../test-context.fixture.ts";

/** Timers that fire when the test says so. */
function manualTimers() {
  const timers = new Set<() => void>();
  return {
    after: (_ms: number, callback: () => void) => {
      timers.add(callback);
      return () => void timers.delete(callback);
    },
    fire: () => {
      const due = [...timers];
      timers.clear();
      for (const callback of due) callback();
    },
  };
}

const tokens = { ttftMs: 1, durationMs: 2, inputTokens: 10, outputTokens: 5, cachedInputTokens: 4 };
const complete = { ...aComplete, metrics: tokens } as HubEvent;

/** `fire` is called between the events. */
function eventsWith(fire: () => void, ...events: HubEvent[]): Client["events"] {
  return async function* (_code, options) {
    options?.onOpen?.();
    for (const event of events) {
      yield event;
      fire();
    }
  };
}

test("in a pipe, usage prints its table once, at the end", async () => {
  const { after, fire } = manualTimers();
  const world = makeWorld(
    { world: passing({ after }) },
    { events: eventsWith(fire, complete, complete, aFailure) },
  );
  expect(await world.run("usage", "ABC234")).toBe(0);
  expect(world.stdout.text).toMatchInlineSnapshot(`
    "PERSON  PARTICIPANT  MODEL   REQUESTS  ERRORS  INPUT  OUTPUT  CACHED
    alice   ana-llama3   llama3  2         0       20     10      8
    -       -            -       1         1       –      –       –
    "
  `);
  expect(world.stderr.text).toBe("counting the requests of room ABC234 from now on\n");
});

test("on a terminal the table replaces itself, at most once per second", async () => {
  const { after, fire } = manualTimers();
  const events = eventsWith(fire, complete, aFailure);
  const world = makeWorld({ world: passing({ after }), stdout: capture(80) }, { events });
  await world.run("usage", "ABC234");
  const [first, second, ...more] = world.stdout.text.split("\u001b[2A\u001b[J");
  expect(more).toEqual([]);
  expect(first?.split("\n")).toHaveLength(3);
  expect(second?.split("\n")).toHaveLength(4);
  const never = makeWorld(
    { world: passing({ after }), stdout: capture(80) },
    { events: eventsWith(() => {}, complete, complete) },
  );
  await never.run("usage", "ABC234");
  expect(never.stdout.text).not.toContain("\u001b[J");
  expect(never.stdout.text.split("\n")).toHaveLength(3);
});

test("a terminal shows twenty rows and how many there are more", async () => {
  const { after } = manualTimers();
  const many = Array.from({ length: 30 }, (_, index) => {
    return { ...complete, client: { kind: "name", id: `p${index}` } } as HubEvent;
  });
  const world = makeWorld(
    { world: passing({ after }), stdout: capture(80) },
    { events: eventsWith(() => {}, ...many) },
  );
  await world.run("usage", "ABC234");
  const lines = world.stdout.text.trimEnd().split("\n");
  expect(lines).toHaveLength(22);
  expect(lines.at(-1)).toBe("… 10 more rows");
});

test("usage --json prints each row that changed, with all of its sums", async () => {
  const { after, fire } = manualTimers();
  const world = makeWorld(
    { world: passing({ after }) },
    { events: eventsWith(fire, complete, complete, aFailure) },
  );
  await world.run("usage", "ABC234", "--json");
  const lines = world.stdout.text.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    ...[1, 2].map((requests) => ({
      ...{ person: "alice", participantId: "ana-llama3", model: "llama3", requests, errors: 0 },
      ...{ inputTokens: 10 * requests, outputTokens: 5 * requests },
      ...{ cachedInputTokens: 4 * requests, estimated: [] },
    })),
    {
      ...{ person: "-", participantId: "-", model: "-", requests: 1, errors: 1 },
      ...{ inputTokens: null, outputTokens: null, cachedInputTokens: null, estimated: [] },
    },
  ]);
});

test("a broken stream is reported, with what it means for the sums", async () => {
  const events: Client["events"] = async function* (_code, options) {
    options?.onDisconnect?.("ECONNRESET", 1_000);
    yield complete;
  };
  const world = makeWorld({}, { events });
  await world.run("usage", "ABC234");
  expect(world.stderr.text).toBe(
    "disconnected: ECONNRESET; retrying in 1.0 s; requests until then are not counted\n",
  );
});

test("usage needs a room", async () => {
  const world = makeWorld();
  expect(await world.run("usage")).toBe(2);
});
