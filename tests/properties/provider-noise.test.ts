import { createSseReader } from "@roomhub/protocol";
import {
  array,
  asyncProperty,
  assert,
  type Arbitrary,
  constant,
  constantFrom,
  integer,
  oneof,
  record,
  string,
  tuple,
  uint8Array,
} from "fast-check";
import { expect, test } from "vitest";
import type { EventRecorder } from "../support/hub/event-recorder.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { ledgerProblems } from "../support/hub/ledger.ts";
import { mustHaveMet, propertyRuns, propertyTimeoutMs, SEEDS } from "../support/property-runs.ts";
import { startScriptedProvider, type WireScript } from "../support/providers/scripted-provider.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";

/** A provider's response, before it is encoded. */
interface Said {
  statusLine: string;
  headers: string[];
  body: Buffer;
  framing: "length" | "chunked" | "close" | "too-long" | "too-short" | "both";
  /** sizes of the pieces it is written in, over and over */
  bites: number[];
  /** of its bytes that are sent at all, in thousandths */
  sentOf1000: number;
  end: WireScript["end"];
}

const chat = (delta: object, finish: string | null) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const response = (type: string, more: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 1, ...more })}\n\n`;
const wholeChat = [
  chat({ role: "assistant" }, null),
  chat({ content: "hello" }, null),
  chat({}, "stop"),
  "data: [DONE]\n\n",
];
const wholeResponse = [
  response("response.created", { response: { id: "r", status: "in_progress" } }),
  response("response.output_text.delta", { delta: "hello" }),
  response("response.completed", { response: { id: "r", status: "completed" } }),
];
const wholeJson = JSON.stringify({ id: "c", object: "chat.completion", choices: [] });

const events = oneof(
  constantFrom(...wholeChat, ...wholeResponse),
  constantFrom(
    ": a comment\n\n",
    "\n",
    "\n\n",
    "data:\n\n",
    "data: {\n\n",
    "event: x\n",
    "id: 7\n",
  ),
  constantFrom(chat({ content: "x".repeat(20_000) }, null), `data: ${"y".repeat(40_000)}`),
  uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
);
const streamed = oneof(
  constantFrom(wholeChat, wholeResponse),
  constantFrom(wholeChat, wholeResponse),
  array(events, { maxLength: 8 }),
  array(events, { maxLength: 4 }).map((noise) => [...noise, ...wholeChat]),
  array(events, { maxLength: 2 }).map((noise) => [...wholeChat, ...noise]),
  constant([chat({ content: "a" }, null), 'data: {"error":{"message":"out of memory"}}\n\n']),
);
const body: Arbitrary<Buffer> = oneof(
  { weight: 4, arbitrary: streamed.map((parts) => Buffer.from(parts.join(""), "latin1")) },
  {
    weight: 1,
    arbitrary: streamed.map((parts) => Buffer.from(parts.join("").replaceAll("\n", "\r\n"))),
  },
  {
    weight: 2,
    arbitrary: constantFrom(
      wholeJson,
      wholeJson,
      wholeJson,
      wholeJson.slice(0, -1),
      `${wholeJson}}`,
      '{"error":"no"}',
      "[]",
      "",
      "null",
      "<html></html>",
      "[".repeat(2_000),
      `{"choices":["${"z".repeat(70_000)}"]}`,
      `{"choices":["${"z".repeat(70_000)}"]`,
    ).map((text) => Buffer.from(text)),
  },
  { weight: 1, arbitrary: uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)) },
);
const statusLine = oneof(
  { weight: 20, arbitrary: constant("HTTP/1.1 200 OK") },
  {
    weight: 2,
    arbitrary: integer({ min: 0, max: 1_100 }).map((status) => `HTTP/1.1 ${status} What`),
  },
  {
    weight: 1,
    arbitrary: constantFrom("HTTP/1.0 200 OK", "HTTP/9.9 200 OK", "ICY 200 OK", "HTTP/1.1 200"),
  },
  { weight: 1, arbitrary: string({ maxLength: 20 }) },
);
const contentType = constantFrom(
  "content-type: text/event-stream",
  "content-type: text/event-stream",
  "content-type: text/event-stream; charset=utf-8",
  "content-type: application/json",
  "content-type: application/json; charset=utf-8",
  "content-type: text/html",
  "x-no: type",
);
const header = oneof(
  constantFrom(
    "set-cookie: a=b",
    "location: http://127.0.0.1:1/",
    "content-encoding: gzip",
    "connection: close",
    "retry-after: 1",
    "x-ratelimit-limit-requests: \u00e9",
    "access-control-allow-credentials: true",
    "transfer-encoding: gzip, chunked",
    `x-big: ${"h".repeat(9_000)}`,
    "bad header",
  ),
  string({ maxLength: 30 }),
);
const said: Arbitrary<Said> = record({
  statusLine,
  headers: oneof(
    { weight: 3, arbitrary: contentType.map((type) => [type]) },
    {
      weight: 2,
      arbitrary: contentType.map((type) => [
        type,
        "set-cookie: a=b",
        "location: http://127.0.0.1:1/",
      ]),
    },
    { weight: 1, arbitrary: array(header, { maxLength: 2 }) },
    { weight: 1, arbitrary: tuple(contentType, header) },
  ),
  body,
  framing: oneof(
    { weight: 5, arbitrary: constantFrom("length" as const, "chunked" as const, "close" as const) },
    {
      weight: 1,
      arbitrary: constantFrom("too-long" as const, "too-short" as const, "both" as const),
    },
  ),
  bites: array(integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 4 }),
  sentOf1000: oneof(
    { weight: 3, arbitrary: constant(1_000) },
    { weight: 1, arbitrary: integer({ min: 0, max: 1_000 }) },
  ),
  end: constantFrom("end", "end", "end", "destroy", "reset"),
});

function scriptOf({ statusLine: first, headers, body: bytes, framing, ...how }: Said): WireScript {
  const framed = framing === "chunked" || framing === "both" ? chunked(bytes, how.bites) : bytes;
  const head = [first, ...headers, ...framingHeaders(framing, bytes.length), "", ""].join("\r\n");
  const all = Buffer.concat([Buffer.from(head, "latin1"), framed]);
  const sent = all.subarray(0, Math.ceil((all.length * how.sentOf1000) / 1_000));
  return { pieces: bitten(sent, how.bites), end: how.end };
}

function framingHeaders(framing: Said["framing"], length: number): string[] {
  switch (framing) {
    case "length":
      return [`content-length: ${length}`];
    case "too-long":
      return [`content-length: ${length + 5}`];
    case "too-short":
      return [`content-length: ${Math.max(0, length - 5)}`];
    case "chunked":
      return ["transfer-encoding: chunked"];
    case "both":
      return ["transfer-encoding: chunked", `content-length: ${length}`];
    case "close":
      return ["connection: close"];
  }
}

function chunked(bytes: Buffer, sizes: number[]): Buffer {
  const parts = bitten(bytes, sizes).flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
}

function bitten(bytes: Buffer, sizes: number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? bytes.length;
    parts.push(bytes.subarray(at, at + size));
    at += size;
  }
  return parts;
}

/** How a client interprets a response, from its bytes alone. */
type Outcome = "complete" | "failed" | `a clean end without a marker: ${string}`;

interface Question {
  participant: string;
  surface: "chat/completions" | "responses";
  isStream: boolean;
}

const plainly: Omit<Said, "headers" | "body"> = {
  statusLine: "HTTP/1.1 200 OK",
  framing: "length",
  bites: [20_000],
  sentOf1000: 1_000,
  end: "end",
};
/** What chance seldom brings about. */
const examples: [Said, Omit<Question, "participant">][] = [
  // Half of a response that is too long to be held: its client is disconnected by the hub, which does not count as the client's disconnect.
  [
    {
      ...plainly,
      headers: ["content-type: application/json"],
      body: Buffer.from(`{"choices":["${"z".repeat(70_000)}"`),
    },
    { surface: "chat/completions", isStream: false },
  ],
  // A terminal event glued to half a line is no event.
  [
    {
      ...plainly,
      headers: ["content-type: text/event-stream"],
      body: Buffer.from(`data: ${"y".repeat(4_000)}${wholeResponse.at(-1)}`),
    },
    { surface: "responses", isStream: true },
  ],
];

async function ask(hub: TestHub, code: string, question: Question) {
  const answer = await hub.fetch(`/rooms/${code}/v1/${question.surface}`, {
    json: { model: question.participant, stream: question.isStream, messages: [], input: "" },
  });
  const foreign = ["set-cookie", "location", "content-encoding", "transfer-encoding"].filter(
    (name) => answer.headers.has(name) && answer.headers.get(name) !== "chunked",
  );
  expect(foreign).toEqual([]);
  expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  const requestId = answer.headers.get("x-request-id") ?? "";
  return { requestId, outcome: await outcomeOf(answer, question.surface) };
}

async function outcomeOf(answer: Response, surface: Question["surface"]): Promise<Outcome> {
  let text: string;
  try {
    text = await answer.text();
  } catch {
    return "failed"; // the connection broke, which is never treated as an end
  }
  if (answer.status >= 400) {
    expect(JSON.parse(text)).toMatchObject({ error: expect.anything() });
    return "failed";
  }
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    JSON.parse(text);
    return "complete";
  }
  const all = eventsIn(text);
  if (all.some(({ event, json }) => event === "error" || isError(json))) return "failed";
  const isOver =
    surface === "responses"
      ? all.some(({ json }) => /^response\.(completed|incomplete|failed)$/.test(typeOf(json)))
      : false;
  if (isOver || all.some(({ data }) => data === "[DONE]")) return "complete";
  return `a clean end without a marker: ${text.slice(-200)}`;
}

function eventsIn(text: string) {
  const all: { event: string | undefined; data: string; json: unknown }[] = [];
  const reader = createSseReader(
    ({ event, data }) => all.push({ event, data, json: parsed(data) }),
    () => undefined,
  );
  reader.feed(text);
  return all;
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined; // noise
  }
}

function isError(json: unknown): boolean {
  return typeof json === "object" && json !== null && "error" in json && json.error !== null;
}

function typeOf(json: unknown): string {
  return typeof json === "object" && json !== null && "type" in json ? String(json.type) : "";
}

async function endOf(recorder: EventRecorder, requestId: string): Promise<string> {
  const find = () =>
    recorder.events.findLast(
      ({ kind, data }) =>
        data["requestId"] === requestId && (kind === "llm.complete" || kind === "llm.error"),
    );
  await recorder.waitFor(`the end of ${requestId}`, () => find() !== undefined);
  return find()?.kind ?? "";
}

test.for(SEEDS)(
  "whatever a provider says, its client and the events agree on how it ended (seed %i)",
  { timeout: propertyTimeoutMs },
  async (seed) => {
    await using provider = await startScriptedProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    // Declared, so that one invalid response does not exclude the provider from the next request.
    const capabilities = { openResponses: "supported", chatCompletions: "supported" } as const;
    const wishes = { endpoint: provider.url, capabilities };
    await joinDirect(hub, code, { id: "direct", ...wishes });
    await using _tunnel = await joinTunnel(hub, code, { id: "tunnel", ...wishes });
    const recorder = await hub.watch(code);
    const seen = { complete: 0, failed: 0 };

    const question = record({
      surface: constantFrom("chat/completions" as const, "responses" as const),
      isStream: constantFrom(true, true, false),
    });
    await assert(
      asyncProperty(said, question, async (words, { surface, isStream }) => {
        provider.script = scriptOf(words);
        for (const participant of ["direct", "tunnel"]) {
          // A path that failed once is tried again only after a sign of life.
          await hub.client.heartbeat(code, participant);
          const isRoutable = async () =>
            (await hub.client.getParticipant(code, participant)).connection.connected;
          await until(`${participant} connected`, isRoutable, (value) => value);
          const { requestId, outcome } = await ask(hub, code, { participant, surface, isStream });
          const end = await endOf(recorder, requestId);
          expect({ participant, outcome, end }).toEqual({
            participant,
            outcome: end === "llm.complete" ? "complete" : "failed",
            end,
          });
          seen[outcome as keyof typeof seen]++;
        }
      }),
      { ...propertyRuns(seed, 80), examples },
    );

    await until(
      "every slot free",
      () => hub.client.listParticipants(code),
      (all) => all.every(({ load }) => load.active === 0 && load.queued === 0),
    );
    expect(ledgerProblems(recorder)).toEqual([]);
    expect(hub.log.filter((line) => line.includes(" bug "))).toEqual([]);
    if (!mustHaveMet(seed)) return;
    expect(seen.complete).toBeGreaterThan(0);
    expect(seen.failed).toBeGreaterThan(0);
  },
);
