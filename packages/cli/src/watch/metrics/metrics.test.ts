import { expect, test } from "vitest";
import type { Client } from "../../capabilities.ts";
import { aComplete, aParticipant, aRoom, makeWorld, passing } from "../../test-context.fixture.ts";

/** Opens, and yields one event with this id. */
function eventsWith(...eventIds: string[]): Client["events"] {
  return async function* (_code: string | undefined, options) {
    options?.onOpen?.();
    for (const id of eventIds) {
      options?.onEventId?.(id);
      yield aComplete;
    }
  } as Client["events"];
}

const lists = {
  listRooms: async () => [aRoom(), aRoom({ code: "DEF567" })],
  listParticipants: async () => [aParticipant()],
};

test("metrics of all rooms are served until the command is stopped", async () => {
  const world = makeWorld({}, { ...lists, events: eventsWith("b-1", "b-3") });
  expect(await world.run("metrics")).toBe(0);
  expect(world.stdout.text).toBe("http://127.0.0.1:9464/metrics\n");
  expect(world.stderr.text).toBe("All rooms of http://127.0.0.1:5050; Ctrl+C stops\n");
  expect(world.closedMetrics).toBe(1);
  const text = (await world.metrics[0]?.text()) ?? "";
  expect(text).toMatch(/^roomhub_requests_total\{.*\} 2$/m);
  expect(text).toMatch(/^roomhub_events_missed_total 1$/m);
  expect(text).toMatch(/^roomhub_num_requests_running\{room="DEF567",.*\} 1$/m);
});

test("metrics of one room list its participants alone, once per second", async () => {
  let listed = 0;
  const listParticipants = async (code: string) => {
    listed++;
    expect(code).toBe("ABC234");
    return [aParticipant()];
  };
  let now = 0;
  const world = makeWorld(
    { world: passing({ nowMs: () => now }) },
    { listParticipants, events: eventsWith("b-1") },
  );
  await world.run("metrics", "ABC234", "--port", "9100", "--host", "::1", "--json");
  expect(JSON.parse(world.stdout.text)).toEqual({
    url: "http://[::1]:9100/metrics",
    hubUrl: "http://127.0.0.1:5050",
    room: "ABC234",
  });
  for (const ms of [0, 999, 1_000]) {
    now = ms;
    await world.metrics[0]?.text();
  }
  expect(listed).toBe(2);
});

test("a port that cannot be opened is an error with the next step", async () => {
  const serveMetrics = () => Promise.reject(new Error("listen EADDRINUSE"));
  const world = makeWorld({ serveMetrics }, { events: eventsWith() });
  expect(await world.run("metrics")).toBe(1);
  expect(world.stderr.text).toContain("The metrics cannot be served: listen EADDRINUSE");
  expect(world.stderr.text).toContain("--port 0");
});

test("a broken stream is reported, with what it means for the metrics", async () => {
  const events = async function* (_code: string | undefined, options) {
    options?.onOpen?.();
    yield aComplete;
    options?.onDisconnect?.("ECONNRESET", 1_000);
  } as Client["events"];
  const world = makeWorld({}, { ...lists, events });
  await world.run("metrics");
  expect(world.stderr.text).toContain(
    "disconnected: ECONNRESET; retrying in 1.0 s; requests until then are not counted\n",
  );
  expect(await world.metrics[0]?.text()).toContain("roomhub_event_stream_open 0\n");
});

test("metrics are sent to an OTLP receiver instead of being served", async () => {
  const world = makeWorld({}, { ...lists, events: eventsWith("b-1") });
  expect(await world.run("metrics", "--otlp", "http://127.0.0.1:4318", "--json")).toBe(0);
  expect(JSON.parse(world.stdout.text)).toEqual({
    url: "http://127.0.0.1:4318/v1/metrics",
    hubUrl: "http://127.0.0.1:5050",
    room: null,
  });
  expect(world.metrics).toEqual([]);
  expect(world.closedMetrics).toBe(1);
  const sent = await world.sentMetrics[0]?.collect();
  expect(sent?.map(({ name }) => name)).toContain("roomhub.num_requests_running");
});

test("a receiver's own path is kept, and what is no URL is an error", async () => {
  const world = makeWorld({}, { ...lists, events: eventsWith() });
  await world.run("metrics", "--otlp", "https://example.org/otlp/v1/metrics?key=1");
  expect(world.sentMetrics[0]?.url).toBe("https://example.org/otlp/v1/metrics?key=1");
  expect(await world.run("metrics", "--otlp", "localhost:4318")).toBe(2);
  expect(world.stderr.text).toContain("Must be a URL, like http://127.0.0.1:4318.");
  expect(await world.run("metrics", "--otlp", "http://a", "--port", "1")).toBe(2);
});

test("a receiver that does not accept the metrics is reported once, and when it accepts them again", async () => {
  const world = makeWorld({}, { ...lists, events: eventsWith() });
  await world.run("metrics", "--otlp", "http://127.0.0.1:4318");
  world.stderr.text = "";
  for (const failure of [undefined, "ECONNREFUSED", "ECONNREFUSED", undefined, undefined]) {
    world.sentMetrics[0]?.onSent(failure);
  }
  expect(world.stderr.text).toBe(
    "http://127.0.0.1:4318/v1/metrics did not accept the metrics: ECONNREFUSED; they are sent every 15 s, and no count is lost\n" +
      "http://127.0.0.1:4318/v1/metrics accepts the metrics again\n",
  );
});
