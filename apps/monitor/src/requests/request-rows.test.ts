import { initialState, reduce, type RoomEvent, type RoomState } from "@roomhub/room-state";
import { expect, test } from "vitest";
import { orderedRequests, requestRow } from "./request-rows.ts";

const common = {
  timestamp: "",
  roomCode: "ABC234",
  selector: "*",
  protocol: "chatCompletions",
  client: { kind: "name", id: "alice" },
  conversation: "0a1b2c3d",
};
const at = { participantId: "ada", model: "llama3" };

function stateOf(...events: (object & { type: string; requestId: string })[]): RoomState {
  const sent = events.map((event) => ({ ...common, ...event }) as unknown as RoomEvent);
  return sent.reduce(
    (state, event, index) => reduce(state, event, 1_000 + index * 1_000),
    initialState(),
  );
}

const request = (requestId: string) => ({ type: "llm.request", requestId, ...at, attempt: 1 });
const queuedAt = (requestId: string, place: number) => ({
  type: "request.queued",
  requestId,
  place,
});
const failed = {
  type: "llm.error",
  requestId: "c",
  ...at,
  nickname: "Ada",
  endpoint: "",
  stage: "provider",
  error: "it hung up",
  code: "provider_disconnected",
  attempts: 1,
  queueMs: 0,
};

test("requests move down: running, waiting by place, ended with the newest first", () => {
  const state = stateOf(
    ...[request("c"), failed, request("d"), { ...failed, requestId: "d" }],
    ...[queuedAt("w1", 1), queuedAt("w2", 1), request("a"), request("b")],
  );
  const ids = orderedRequests(state).map(({ requestId }) => requestId);
  expect(ids).toEqual(["a", "b", "w2", "w1", "d", "c"]);
});

test("a row says in words what the request waits for", () => {
  const rows = (...events: Parameters<typeof stateOf>) =>
    orderedRequests(stateOf(...events)).map((each) => requestRow(each, 4_000));
  expect(rows(queuedAt("a", 1))[0]).toMatchObject({
    phaseText: "waiting, place 1",
    person: "alice",
    conversation: "0a1b2c3d",
    timeText: "3.0 s",
  });
  expect(rows(request("a"))[0]).toMatchObject({ phaseText: "first token", ...at });
  const first = { type: "request.first", requestId: "a", participantId: "ada", ttftMs: 80 };
  const progress = { type: "request.progress", requestId: "a", outputTokens: 20 };
  expect(rows(request("a"), first, progress)[0]).toMatchObject({
    phaseText: "streaming",
    ttftText: "80 ms",
    tokens: 20,
    rateText: "20 tokens/s",
  });
  expect(rows(request("c"), failed)[0]).toMatchObject({
    phaseText: "failed at provider",
    timeText: "",
    failure: { code: "provider_disconnected", hint: expect.stringContaining("model server") },
  });
});

test("a client without a name and a key is called so", () => {
  const state = stateOf({ ...request("a"), client: { kind: "none", id: "" } } as never);
  const [row] = orderedRequests(state).map((each) => requestRow(each, 0));
  expect(row?.person).toBe("no name");
});
