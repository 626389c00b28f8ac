import { describe, expect, test } from "vitest";
import { HubError } from "../../errors.ts";
import { everyCut } from "../../inference/stream/cuts.fixture.ts";
import { StreamObserver } from "../../inference/stream/observe.ts";
import {
  completed,
  created,
  responsesStream,
  textDelta,
} from "../../inference/stream/streams.fixture.ts";
import { type MessageChannel, SocketTurn } from "./socket-turn.ts";

/** A socket that keeps what it is given until the test hands it over. */
class FakeChannel implements MessageChannel {
  readonly messages: string[] = [];
  readonly #unsent: ((error?: Error | null) => void)[] = [];
  isBehind = false;
  isTerminated = false;

  send(text: string, onSent: (error?: Error | null) => void): void {
    this.messages.push(text);
    this.#unsent.push(onSent);
  }

  handOver(error?: Error): void {
    for (const onSent of this.#unsent.splice(0)) onSent(error);
  }

  terminate(): void {
    this.isTerminated = true;
  }

  get decoded(): Record<string, unknown>[] {
    return this.messages.map((text) => JSON.parse(text) as Record<string, unknown>);
  }
}

function aTurn(maxEventBytes = 10_000) {
  const channel = new FakeChannel();
  return { channel, turn: new SocketTurn(channel, maxEventBytes) };
}

const sse = { "content-type": "text/event-stream" };
const json = { "content-type": "application/json" };
const output = [{ type: "message", content: [{ type: "output_text", text: "hello" }] }];
const events = [created, textDelta, textDelta, completed({ output })];
const numbered = events.map((event, index) => ({ ...event, sequence_number: index }));

describe("a stream becomes messages, one event one message", () => {
  const styles = ["\n", "\r\n", "\r"].flatMap((lineEnd) =>
    [true, false].map((hasEventLines) => ({ lineEnd, hasEventLines })),
  );

  test.each(styles)("wherever it is cut: %j", (style) => {
    const end = `data: [DONE]${style.lineEnd}${style.lineEnd}`;
    const bytes = Buffer.from(`: hello\n\n${responsesStream(events, style)}${end}`);
    for (const cut of everyCut(bytes)) {
      const { channel, turn } = aTurn();
      turn.writeHead(200, sse);
      // It forwards events whole while they are short, and longer ones as they arrive.
      const observer = new StreamObserver("responses", 16, (piece) => turn.write(piece));
      for (const piece of cut) observer.push(piece, 0);
      expect(channel.decoded).toEqual(numbered);
      expect(turn.result?.output.toString()).toBe(JSON.stringify(output).slice(1, -1));
    }
  });

  test("data over several lines is one message", () => {
    const { channel, turn } = aTurn();
    turn.writeHead(200, sse);
    turn.write('data: {"type":\ndata: "x"}\n\n');
    expect(channel.decoded).toEqual([{ type: "x" }]);
  });

  test("comments and the end marker are not relayed", () => {
    const { channel, turn } = aTurn();
    turn.writeHead(200, sse);
    turn.write(": keepalive\n\ndata: [DONE]\n\n");
    expect(channel.messages).toEqual([]);
  });

  test("half an event is dropped when the stream breaks, and the error frame follows whole", () => {
    const { channel, turn } = aTurn();
    turn.writeHead(200, sse);
    turn.write(Buffer.from('data: {"type":"resp'));
    turn.write('\n\nevent: error\ndata: {"type":"error"}\n\ndata: [DONE]\n\n');
    expect(channel.messages).toEqual(['{"type":"error"}']);
    expect(turn.result).toBeUndefined();
  });

  test("a last event that only lacked its blank line is relayed", () => {
    const { channel, turn } = aTurn();
    turn.writeHead(200, sse);
    turn.write(Buffer.from('data: {"type":"last"}'));
    turn.write("\n\n");
    expect(channel.messages).toEqual(['{"type":"last"}']);
  });
});

describe("what a next turn may go on from", () => {
  test.each([
    { type: "response.completed", isWhole: true },
    { type: "response.incomplete", isWhole: true },
    { type: "response.failed", isWhole: false },
    { type: "response.in_progress", isWhole: false },
  ])("a stream that ends with $type: $isWhole", ({ type, isWhole }) => {
    for (const hasEventLines of [true, false]) {
      const { turn } = aTurn();
      turn.writeHead(200, sse);
      const event = { type, response: { id: "resp_7", output } };
      turn.write(responsesStream([event], { hasEventLines }));
      expect(turn.result?.responseId).toBe(isWhole ? "resp_7" : undefined);
    }
  });

  test("a text that talks of the event is not the event", () => {
    const { turn } = aTurn();
    turn.writeHead(200, sse);
    const delta = JSON.stringify({ type: "response.completed", response: { id: "x", output } });
    turn.write(responsesStream([{ ...textDelta, delta }], { hasEventLines: false }));
    expect(turn.result).toBeUndefined();
  });

  test.each([
    "{",
    "null",
    '{"type":"response.completed"}',
    '{"type":"response.completed","response":{}}',
  ])("a terminal event that is none: %s", (data) => {
    const { channel, turn } = aTurn();
    turn.writeHead(200, sse);
    turn.write(`event: response.completed\ndata: ${data}\n\n`);
    expect(turn.result).toBeUndefined();
    expect(channel.messages).toEqual([data]);
  });
});

describe("an event is held whole", () => {
  const head = "data: ";

  test("up to the longest response, and not a byte longer", () => {
    const { turn } = aTurn(100);
    turn.writeHead(200, sse);
    turn.write(head.padEnd(100, "x"));
    expect(() => turn.write("x")).toThrow(HubError);
    turn.write('\n\ndata: {"type":"error"}\n\n');
  });

  test("and nothing of one that was too long is relayed", () => {
    const { channel, turn } = aTurn(100);
    turn.writeHead(200, sse);
    expect(() => turn.write(head.padEnd(101, "x"))).toThrow("ROOMHUB_RESPONSE_BODY_BYTES");
    turn.write('\n\ndata: {"type":"error"}\n\n');
    expect(channel.messages).toEqual(['{"type":"error"}']);
  });

  test("also when the bytes it came in are used again", () => {
    const { channel, turn } = aTurn();
    turn.writeHead(200, sse);
    const window = Buffer.from('data: {"a":');
    turn.write(window);
    window.fill(0x20);
    turn.write("1}\n\n");
    expect(channel.messages).toEqual(['{"a":1}']);
  });
});

describe("a response that is no stream", () => {
  const response = { id: "resp_1", status: "completed", output };

  test("is sent as the event that would have ended a stream", () => {
    const { channel, turn } = aTurn();
    turn.respond(200, json, Buffer.from(JSON.stringify(response)), () => undefined);
    expect(channel.decoded).toEqual([{ type: "response.completed", sequence_number: 0, response }]);
    expect(turn.result?.responseId).toBe("resp_1");
  });

  test("may come in pieces", () => {
    const { channel, turn } = aTurn();
    const bytes = Buffer.from(JSON.stringify({ ...response, status: "incomplete" }));
    turn.writeHead(200, json);
    turn.write(bytes.subarray(0, 20));
    turn.write(bytes.subarray(20));
    turn.end(() => undefined);
    expect(channel.decoded[0]).toMatchObject({ type: "response.incomplete" });
  });

  test.each(["[]", "null", "{", '{"status":"queued"}'])(
    "and no response, %s, is a failure",
    (text) => {
      const { channel, turn } = aTurn();
      const respond = () => turn.respond(200, json, Buffer.from(text), () => undefined);
      expect(respond).toThrow("not a response object");
      expect(turn.isHeadWritten).toBe(false);
      expect(channel.messages).toEqual([]);
    },
  );
});

describe("a failure before the stream", () => {
  test("of the hub is nested and flat, with the headers of a response", () => {
    const { channel, turn } = aTurn();
    const error = new HubError("participant_offline", "No participant is there.", {
      param: "model",
    });
    turn.refuse(error, { "x-request-id": "req_1" });
    const flat = {
      message: "No participant is there.",
      param: "model",
      code: "participant_offline",
    };
    expect(channel.decoded).toEqual([
      {
        type: "error",
        status: 503,
        error: { ...flat, type: "server_error", stage: "routing" },
        ...flat,
        headers: { "retry-after": "5", "x-request-id": "req_1" },
      },
    ]);
    expect(turn.isHeadWritten).toBe(true);
  });

  test("of the provider keeps its own words", () => {
    const { channel, turn } = aTurn();
    const error = { message: "no", type: "odd", code: null, param: null, more: 1 };
    turn.respond(422, json, Buffer.from(JSON.stringify({ error })), () => undefined);
    const flat = { message: "no", code: null, param: null };
    expect(channel.decoded).toEqual([
      { type: "error", status: 422, error, ...flat, headers: json },
    ]);
    expect(turn.result).toBeUndefined();
  });
});

describe("the end", () => {
  test("comes when the socket has the last message, whichever comes first", () => {
    for (const isEarly of [true, false]) {
      const { channel, turn } = aTurn();
      let isOver = false;
      turn.writeHead(200, sse);
      turn.write("data: {}\n\n");
      if (isEarly) channel.handOver();
      turn.end(() => {
        isOver = true;
      });
      expect(isOver).toBe(isEarly);
      channel.handOver();
      expect(isOver).toBe(true);
    }
  });

  test("never comes when a message was lost", () => {
    for (const isEarly of [true, false]) {
      const { channel, turn } = aTurn();
      let isOver = false;
      turn.writeHead(200, sse);
      turn.write("data: {}\n\n");
      if (isEarly) channel.handOver(new Error("closed"));
      turn.end(() => {
        isOver = true;
      });
      channel.handOver(new Error("closed"));
      expect(isOver).toBe(false);
    }
  });

  test("that must not look clean is the socket's", () => {
    const { channel, turn } = aTurn();
    turn.destroy();
    expect(channel.isTerminated).toBe(true);
  });
});

test("every write reports a client that is behind", () => {
  const { channel, turn } = aTurn();
  turn.writeHead(200, sse);
  expect(turn.write("data: {}\n\n")).toBe(true);
  channel.isBehind = true;
  expect(turn.write("data: {}\n\n")).toBe(false);
  expect(turn.write("data: {")).toBe(false);
});
