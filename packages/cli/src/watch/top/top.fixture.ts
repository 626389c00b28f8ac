import { initialState, type Link, reduce, resync, type RoomEvent } from "@roomhub/room-state";
import { createColors } from "../../terminal/text.ts";
import { aParticipant, aRoom } from "../../test-context.fixture.ts";
import type { TopView } from "./view.ts";

/** Noon, local time, so that clock times in frames are the same everywhere. */
const noonMs = new Date(2026, 0, 2, 12).getTime();

const inRoom = { timestamp: "2026-01-02T12:00:00.000Z", roomCode: "ABC234" };
const origin = { selector: "llama3", protocol: "chatCompletions" } as const;
const ana = { participantId: "ana-llama3", model: "llama3" };
const wide = { participantId: "千问-小明🎉", model: "qwen3-coder-30b-a3b-instruct" };
const named = (id: string) => ({ client: { kind: "name", id } as const });

const participants = [
  aParticipant({ load: { active: 2, queued: 0, limit: 4, limitFrom: "engine", elsewhere: 1 } }),
  aParticipant({
    ...{ id: "bea-qwen3", nickname: "Béa", model: "qwen3", status: "offline" },
  }),
  aParticipant({
    ...{ id: wide.participantId, model: wide.model },
    load: { active: 0, queued: 0, limit: 64, limitFrom: "declared" },
    budget: { tokensPerDay: 1_000_000, remainingTokens: 420_000 },
  }),
  aParticipant({
    id: "cat-mistral",
    status: "unavailable",
    model: "mistral",
    connection: {
      ...aParticipant().connection,
      readiness: "down",
      problem: "connection refused\u001b[31m",
    },
  }),
];

/** A quarter of an hour in a room: requests that ended, run, wait, and one after another attempt. */
export const lively: readonly (readonly [secondsAgo: number, event: RoomEvent])[] = [
  ...Array.from({ length: 60 }, (_, index) => done(880 - index * 14, index)),
  [40, failed("f1", "ana-llama3: the model server closed the connection")],
  [30, request("r1", ana, "alice")],
  [
    29,
    { ...inRoom, type: "request.first", requestId: "r1", participantId: "ana-llama3", ttftMs: 412 },
  ],
  [1, { ...inRoom, type: "request.progress", requestId: "r1", outputTokens: 1_204 }],
  [8, request("r2", wide, "小明")],
  [7, { ...inRoom, type: "request.first", requestId: "r2", participantId: "", ttftMs: 900 }],
  [2, { ...inRoom, type: "request.progress", requestId: "r2", outputTokens: 93 }],
  [3, request("r3", ana, "carol-with-a-very-long-name", 2)],
  [2, queued("r4", "dan", 1)],
  [1, queued("r5", "eve", 1)],
];

function done(secondsAgo: number, index: number): readonly [number, RoomEvent] {
  const metrics = {
    ttftMs: 120 + ((index * 37) % 300),
    durationMs: 2_400,
    inputTokens: 1_000,
    cachedInputTokens: 640,
    outputTokens: 20 + ((index * 53) % 200),
  };
  const end = { ...inRoom, ...origin, ...ana, ...named("alice"), attempts: 1, queueMs: 0, metrics };
  return [secondsAgo, { ...end, type: "llm.complete", requestId: `d${index}` }];
}

function request(requestId: string, at: typeof ana, who: string, attempt = 1): RoomEvent {
  return { ...inRoom, ...origin, ...at, ...named(who), type: "llm.request", requestId, attempt };
}

function queued(requestId: string, who: string, place: number): RoomEvent {
  return { ...inRoom, ...origin, ...named(who), type: "request.queued", requestId, place };
}

function failed(requestId: string, error: string): RoomEvent {
  return {
    ...{ ...inRoom, ...origin, ...ana, ...named("bob"), type: "llm.error", requestId, error },
    ...{ nickname: "Ana", endpoint: "http://127.0.0.1:11434", attempts: 1, queueMs: 0 },
    ...{ stage: "provider", code: "provider_disconnected" },
  };
}

/** What a frame shows after these events, without colours. */
export function aView(
  columns: number,
  rows: number,
  events: typeof lively = lively,
  link: Link = { kind: "open" },
): TopView {
  const lists = { room: aRoom(), participants, requests: [] };
  const start = resync(
    initialState(),
    events.length === 0 ? { ...lists, participants: [] } : lists,
    // An empty room has been watched for two minutes, a lively one for longer than figures go back.
    noonMs - (events.length === 0 ? 120_000 : 1_000_000),
  );
  const state = events.reduce(
    (next, [secondsAgo, event]) => reduce(next, event, noonMs - secondsAgo * 1_000),
    start,
  );
  return {
    ...{ state, link, columns, rows },
    hubUrl: "http://127.0.0.1:5050",
    code: "ABC234",
    nowMs: noonMs,
    colors: createColors(false),
  };
}
