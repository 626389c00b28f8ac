import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { aComplete, aFailure, aParticipant, aRoom } from "../../test-context.fixture.ts";
import { prometheusText } from "./metrics-server.ts";
import { type MetricsNow, RoomMetrics } from "./room-metrics.ts";
import { maxSeries } from "./series.ts";

function textOf(metrics: RoomMetrics, now: MetricsNow): string {
  return prometheusText(metrics.collect(now));
}

const nothingListed = { isConnected: true, rooms: [] };

function complete(over: object = {}, metrics: object = {}): HubEvent {
  return {
    ...aComplete,
    metrics: { ttftMs: 120, durationMs: 2_400, ...metrics },
    ...over,
  } as HubEvent;
}

/** The lines of one metric, without those of buckets. */
function linesOf(text: string, name: string): string[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith(name) && !line.startsWith(`${name}_bucket`));
}

const labels =
  'room="ABC234",participant="ana-llama3",gen_ai_request_model="llama3",gen_ai_operation_name="chat"';

test("times are histograms in seconds, with the conventions' buckets", () => {
  const metrics = new RoomMetrics();
  metrics.note(complete());
  metrics.note(complete({}, { ttftMs: 20_000 }));
  const text = textOf(metrics, nothingListed);
  const name = "gen_ai_server_time_to_first_token_seconds";
  expect(text).toContain(`# TYPE ${name} histogram\n`);
  expect(linesOf(text, name)).toEqual([
    `${name}_sum{${labels}} 20.12`,
    `${name}_count{${labels}} 2`,
  ]);
  const buckets = [...text.matchAll(new RegExp(`^${name}_bucket\\{.*,le="(.*)"\\} (\\d+)$`, "gm"))];
  expect(buckets.map(([, le, count]) => `${le}: ${count}`)).toEqual([
    ...["0.001: 0", "0.005: 0", "0.01: 0", "0.02: 0", "0.04: 0", "0.06: 0", "0.08: 0", "0.1: 0"],
    ...["0.25: 1", "0.5: 1", "0.75: 1", "1: 1", "2.5: 1", "5: 1", "7.5: 1", "10: 1", "+Inf: 2"],
  ]);
  expect(text).toContain(`gen_ai_server_request_duration_seconds_sum{${labels}} 4.8\n`);
});

test("tokens are counted by type, and only those that a model server reports", () => {
  const metrics = new RoomMetrics();
  metrics.note(complete({}, { inputTokens: 4, outputTokens: 70 }));
  metrics.note(complete({}, { inputTokens: 5 }));
  const text = textOf(metrics, nothingListed);
  expect(linesOf(text, "gen_ai_client_token_usage_")).toEqual(
    expect.arrayContaining([
      `gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="input"} 9`,
      `gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="output"} 70`,
      `gen_ai_client_token_usage_count{${labels},gen_ai_token_type="output"} 1`,
    ]),
  );
  // A sample that equals a boundary is within it.
  expect(text).toContain(
    `gen_ai_client_token_usage_bucket{${labels},gen_ai_token_type="input",le="4"} 1\n`,
  );
});

test("a failed request is a request and an error by stage, without the client's model and the provider's code", () => {
  const metrics = new RoomMetrics();
  metrics.note(aFailure);
  const provider = { participantId: "ana", model: "llama3", stage: "provider", code: "made up" };
  metrics.note({ ...aFailure, ...provider } as HubEvent);
  const text = textOf(metrics, nothingListed);
  expect(linesOf(text, "roomhub_request")).toEqual([
    'roomhub_requests_total{room="ABC234",participant="",gen_ai_request_model="",gen_ai_operation_name="chat"} 1',
    'roomhub_requests_total{room="ABC234",participant="ana",gen_ai_request_model="llama3",gen_ai_operation_name="chat"} 1',
    'roomhub_request_errors_total{room="ABC234",participant="",gen_ai_request_model="",stage="routing",error_type="model_not_found"} 1',
    'roomhub_request_errors_total{room="ABC234",participant="ana",gen_ai_request_model="llama3",stage="provider",error_type="other"} 1',
  ]);
});

test("responses that went on after a lost connection are counted as often as that happened", () => {
  const metrics = new RoomMetrics();
  metrics.note(complete({ participantId: "ana", model: "llama3" }, {}));
  const resumes = () => linesOf(textOf(metrics, nothingListed), "roomhub_request_resumes_total{");
  const labels = 'room="ABC234",participant="ana",gen_ai_request_model="llama3"';
  expect(resumes()).toEqual([`roomhub_request_resumes_total{${labels}} 0`]);
  metrics.note(complete({ participantId: "ana", model: "llama3", resumes: 2 }, {}));
  expect(resumes()).toEqual([`roomhub_request_resumes_total{${labels}} 2`]);
});

test("10,000 participants have a bounded number of series, and no request is lost", () => {
  const metrics = new RoomMetrics();
  const participants = Array.from({ length: 10_000 }, (_, index) => `p${index}`);
  for (const participantId of participants) {
    metrics.note(complete({ participantId }, { inputTokens: 1, outputTokens: 1 }));
    metrics.note({ ...aFailure, participantId, code: participantId } as HubEvent);
  }
  const rooms = [
    {
      room: "ABC234",
      participants: participants.map((id) =>
        aParticipant({ id, load: { active: 1, queued: 0, limit: 1, limitFrom: "declared" } }),
      ),
    },
  ];
  const text = textOf(metrics, { isConnected: true, rooms });
  for (const [name, total] of [
    ["roomhub_requests_total", 20_000],
    ["roomhub_request_errors_total", 10_000],
    ["gen_ai_server_time_to_first_token_seconds_count", 10_000],
    ["gen_ai_client_token_usage_count", 20_000],
    ["roomhub_num_requests_running", 10_000],
  ] as const) {
    const lines = linesOf(text, `${name}{`);
    expect(lines.length, name).toBeLessThanOrEqual(maxSeries + 2);
    const sum = lines.reduce((before, line) => before + Number(line.split(" ").at(-1)), 0);
    expect(sum, name).toBe(total);
  }
  expect(text).toContain('participant="other"');
});

test("values of labels cannot end their line or their quotes", () => {
  const metrics = new RoomMetrics();
  metrics.note(complete({ model: 'a"b\\c\nd' }));
  expect(textOf(metrics, nothingListed)).toContain('gen_ai_request_model="a\\"b\\\\c\\nd"');
});

test("missed events are counted, and a hub that restarted is a gap of unknown length", () => {
  const metrics = new RoomMetrics();
  for (const id of ["b-1", "b-2", "b-2", "b-6", "c-1"]) metrics.noteId(id);
  const text = textOf(metrics, nothingListed);
  expect(text).toContain("\nroomhub_events_missed_total 3\n");
  expect(text).toContain("\nroomhub_event_gaps_total 2\n");
});

test("what happened between a room's creation and the stream's opening was not missed", () => {
  const metrics = new RoomMetrics();
  const created = { type: "room.created", timestamp: "t", roomCode: "ABC234", room: aRoom() };
  metrics.noteId("b-1");
  metrics.note(created as HubEvent);
  metrics.noteId("b-5");
  metrics.note(created as HubEvent);
  metrics.noteId("b-7");
  expect(textOf(metrics, nothingListed)).toContain("\nroomhub_events_missed_total 1\n");
});

test("what runs and waits is as listed, and absent when the hub cannot be reached", () => {
  const metrics = new RoomMetrics();
  const rooms = [{ room: "ABC234", participants: [aParticipant()] }];
  const open = '{room="ABC234",participant="ana-llama3",gen_ai_request_model="llama3"}';
  const text = textOf(metrics, { isConnected: false, rooms });
  expect(text).toContain(`\nroomhub_num_requests_running${open} 1\n`);
  expect(text).toContain(`\nroomhub_num_requests_waiting${open} 0\n`);
  expect(text).toContain("\nroomhub_event_stream_open 0\n");
  expect(textOf(metrics, { isConnected: true, rooms: undefined })).not.toContain("num_requests");
});
