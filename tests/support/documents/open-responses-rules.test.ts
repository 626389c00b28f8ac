import { expect, test } from "vitest";
import type { Reply } from "../providers/fake-provider-bodies.ts";
import { answerResponses } from "../providers/fake-provider-responses.ts";
import { checkEvents, checkResponse } from "./open-responses-rules.ts";

type Json = Record<string, unknown>;

const reply: Reply = {
  number: 1,
  model: "m",
  pieces: ["Hel", "lo"],
  toolCall: undefined,
  isTruncated: false,
  inputTokens: 3,
  hasUsage: true,
};
const callReply = { ...reply, toolCall: { id: "call_1", name: "f", arguments: '{"a":1}' } };
const replies: [string, Reply][] = [
  ["a text", reply],
  ["a text cut short", { ...reply, isTruncated: true }],
  ["a tool call", callReply],
  ["no usage", { ...reply, hasUsage: false }],
];

function responseOf(answer: Reply): Json {
  return structuredClone(answerResponses({}, answer).json) as Json;
}

function eventsOf(answer: Reply): Json[] {
  return structuredClone(answerResponses({}, answer).events.map(({ data }) => data as Json));
}

/** @param path - keys with dots between; @param value - undefined removes the key */
function put(path: string, value?: unknown) {
  return (root: unknown) => {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    const owner = keys.reduce((here, key) => here[key] as Json, root as Json);
    if (value === undefined) delete owner[last];
    else owner[last] = value;
  };
}

test.each(replies)("%s that keeps the rules is without a problem", (_what, answer) => {
  expect(checkResponse(responseOf(answer))).toEqual([]);
  expect(checkEvents(eventsOf(answer))).toEqual([]);
});

test("every one of the 31 keys is missed", () => {
  const keys = Object.keys(responseOf(reply)).filter((key) => key !== "user");
  expect(keys).toHaveLength(31);
  for (const key of keys) {
    const response = responseOf(reply);
    put(key)(response);
    expect(checkResponse(response).join()).toContain(`response: ${key}`);
  }
});

const message = { id: "msg_2", type: "message", role: "assistant", content: [] };

test.each([
  ["a usage without its details", put("usage.input_tokens_details"), "usage"],
  ["a tool that is no function", put("tools.0", { type: "web_search" }), "tools.0"],
  ["text without annotations", put("output.0.content.0.annotations"), "annotations"],
  ["an item without an id", put("output.0.id"), "output.0.id"],
  ["one id twice", put("output.1", { ...message, id: "msg_1", status: "completed" }), "one id"],
  ["an open item", put("output.0.status", "in_progress"), "an item of the output"],
  ["an item of an unknown type", put("output.0.type", "web_search_call"), "output.0.type"],
  ["no time of completion", put("completed_at", null), "completed_at"],
  ["a reason to be incomplete", put("incomplete_details", { reason: "x" }), "incomplete_details"],
  ["an error", put("error", { code: "c", message: "m" }), "error"],
])("a completed response with %s is found", (_what, spoil, problem) => {
  const response = responseOf(reply);
  spoil(response);
  expect(checkResponse(response).join()).toContain(problem);
});

/** 0 created, 1 in_progress, 2 item, 3 part, 4 and 5 deltas, 6 text, 7 part, 8 item, 9 completed, 10 [DONE] */
const brokenStreams: [string, (events: Json[]) => unknown, string][] = [
  ["no [DONE]", (events) => events.pop(), "not [DONE]"],
  ["no terminal event", without(9), "ends items"],
  ["an event after the terminal one", (events) => events.splice(10, 0, events[4]!), "not over"],
  ["no beginning", without(0), "not before created"],
  ["no response.in_progress", without(1), "not before in_progress"],
  ["a number left out", put("4.sequence_number", 7), "where 4 is due"],
  ["an event of another dialect", put("4.type", "ping"), "event 4"],
  ["an event without its delta", put("4.delta"), "event 4: delta"],
  ["another response at the end", put("9.response.id", "x"), "the response is x"],
  ["another status at the end", put("9.response.status", "failed"), "is failed"],
  ["an output that was not streamed", put("9.response.output", []), "not the items"],
  ["a delta before its part", swapped(3, 4), "no part is open"],
  ["a delta outside any item", swapped(2, 3), "not open"],
  ["a delta after its text was done", swapped(5, 6), "was done"],
  ["a delta left out", without(5), "differs from its deltas"],
  ["another text when it is done", put("6.text", "Hullo"), "differs from its deltas"],
  ["another text in the part", put("7.part.text", "x"), "differs from its deltas"],
  ["another text in the item", put("8.item.content.0.text", "x"), "differs from its deltas"],
  ["a part that is not closed", without(7), "still open"],
  ["a part closed before its text", swapped(6, 7), "not done"],
  ["an item that is not closed", without(8), "still open"],
  ["an item closed under another id", put("8.item.id", "x"), "another item"],
  ["an item that stays in progress", put("8.item.status", "in_progress"), "in progress"],
  ["an item in the wrong place", put("2.output_index", 1), "where 0 is due"],
  ["an item that begins with text", put("2.item.status", "completed"), "not empty"],
  [
    "an id that is taken",
    (events) => events.splice(9, 0, { ...events[2]!, output_index: 1 }),
    "is taken",
  ],
  ["a part in the wrong place", put("3.content_index", 1), "where 0 is due"],
  ["a delta for another item", put("4.item_id", "x"), "item_id x"],
  ["a delta of another kind", put("4.type", "response.refusal.delta"), "open part is"],
  [
    "an item opened inside another",
    (events) => events.splice(4, 0, { ...events[2]!, output_index: 1 }),
    "the item before it is still open",
  ],
];

function without(at: number) {
  return (events: Json[]) => events.splice(at, 1);
}

function swapped(left: number, right: number) {
  return (events: Json[]) => {
    [events[left], events[right]] = [events[right]!, events[left]!];
  };
}

test.each(brokenStreams)("a stream with %s is found", (_what, spoil, problem) => {
  const events = eventsOf(reply);
  spoil(events);
  expect(checkEvents(events).join("\n")).toContain(problem);
});

test("calls may be open side by side", () => {
  const [created, inProgress, ...rest] = eventsOf(callReply);
  const pieces = rest.slice(0, 5);
  const [completed, end] = rest.slice(5);
  put("response.output.1", secondItem(pieces.at(-1)!["item"]))(completed);
  const events = [
    ...[created, inProgress],
    ...pieces.flatMap((event) => [event, second(event)]),
    completed,
  ].map((event, at) => ({ ...event, sequence_number: at }));
  expect(checkEvents([...events, end])).toEqual([]);
});

function second({ item, ...event }: Json): Json {
  const place = { ...event, output_index: 1 };
  return item === undefined ? { ...place, item_id: "fc_2" } : { ...place, item: secondItem(item) };
}

function secondItem(item: unknown): object {
  return { ...(item as object), id: "fc_2" };
}
