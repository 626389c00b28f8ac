import { expect, test } from "vitest";
import { AgentSession } from "./agent-session.ts";
import type { AgentSessionHandlers } from "./agent-session.ts";
import { HubSession } from "./hub-session.ts";
import type { HubSessionHandlers } from "./hub-session.ts";
import type { IncomingRequest } from "./streams/agent-stream.ts";
import { memoryTransportPair } from "./transport/memory-transport.ts";
import { CLOSE_CODES } from "./wire/close-code.ts";
import { FRAME_TYPES, writeFrameHeader } from "./wire/frame.ts";
import type { FrameType } from "./wire/frame.ts";

interface Ends {
  asking: Partial<HubSessionHandlers>;
  answering: Partial<AgentSessionHandlers>;
}

/** A link between two hubs, or a tunnel when neither end takes notices. */
function openLink({ asking, answering }: Ends) {
  const [left, right] = memoryTransportPair();
  const closes: [side: string, code: number][] = [];
  const requests: IncomingRequest[] = [];
  const shared = {
    onGoAway() {},
    onError: (error: unknown) => void closes.push([String(error), 0]),
  };
  const hub = new HubSession(left, {
    responseWindowBytes: 1_000,
    maxStreams: 8,
    maxResponseHeadBytes: undefined,
    pingIntervalMs: undefined,
    handlers: {
      ...shared,
      onHello() {},
      onStatus() {},
      onLife() {},
      onClose: (code) => void closes.push(["asking", code]),
      ...asking,
    },
  });
  const agent = new AgentSession(right, {
    maxStreams: 8,
    requestWindowBytes: 1_000,
    capabilities: {},
    pingIntervalMs: undefined,
    handlers: {
      ...shared,
      onHello() {},
      onRequest(request) {
        requests.push(request);
        return { onBody: () => true, onBodyEnd() {}, onReset() {}, onDrain() {} };
      },
      onClose: (code) => void closes.push(["answering", code]),
      ...answering,
    },
  });
  return { hub, agent, left, right, closes, requests };
}

async function delivered(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const post = { method: "POST", path: "/", headers: {}, protocol: "chat", stream: false };
const ignored = { onNotice() {} };

function frame(type: FrameType, streamId: number, text: string): Buffer {
  const bytes = Buffer.alloc(9 + text.length);
  writeFrameHeader(bytes, 0, type, streamId, text.length);
  bytes.write(text, 9);
  return bytes;
}

test("notices pass both ways on a link, in order with everything else", async () => {
  const heard: unknown[] = [];
  const onNotice = (notice: object) => void heard.push(notice);
  const { hub, agent } = openLink({ asking: { onNotice }, answering: { onNotice } });
  expect(hub.notify({ kind: "too early" })).toBe(false);
  await delivered();
  expect([hub.notify({ kind: "load", n: 1 }), hub.notify({ kind: "load", n: 2 })]).toEqual([
    true,
    true,
  ]);
  await delivered();
  agent.notify({ kind: "grant" });
  await delivered();
  expect(heard).toEqual([{ kind: "load", n: 1 }, { kind: "load", n: 2 }, { kind: "grant" }]);
});

test("a request carries what the other hub needs, and is admitted before its head", async () => {
  const { hub, requests } = openLink({ asking: ignored, answering: ignored });
  await delivered();
  const story: unknown[] = [];
  const forward = { requestId: "req_1", hops: ["a"] };
  hub.open({ ...post, forward }, [Buffer.from("body")], {
    onAdmitted: (admission) => story.push(admission),
    onHead: ({ status }) => story.push(status),
    onData: () => true,
    onEnd: () => story.push("end"),
    onReset: (code) => story.push(code),
    onClosed: () => story.push("closed"),
  });
  await delivered();
  expect(requests[0]?.head.forward).toEqual(forward);
  const { responder } = requests[0]!;
  responder.admit('{"requestsUsage":true}');
  responder.head({ status: 200, headers: {} });
  responder.end();
  expect(() => responder.admit("{}")).not.toThrow();
  await delivered();
  expect(story).toEqual([{ requestsUsage: true }, 200, "end", "closed"]);
});

test("a notice is dropped while the other hub does not read, and passes when it does again", async () => {
  const heard: unknown[] = [];
  const onNotice = (notice: object) => void heard.push(notice);
  const { hub, left } = openLink({ asking: ignored, answering: { onNotice } });
  await delivered();
  left.stall();
  const sent: boolean[] = [];
  for (let n = 0; n < 40; n++) {
    sent.push(hub.notify({ kind: "warm", text: "x".repeat(60_000) }));
    await delivered();
  }
  expect([sent.at(0), sent.at(-1)]).toEqual([true, false]);
  expect(left.bufferedBytes).toBeLessThan(1_200_000);
  left.unstall();
  for (let turn = 0; turn < 10; turn++) await delivered();
  expect(heard).toHaveLength(sent.filter(Boolean).length);
  expect(hub.notify({ kind: "warm", text: "x".repeat(70_000) })).toBe(false);
});

test.each<[string, Partial<HubSessionHandlers>, number, FrameType, number, string]>([
  ["a NOTICE on a tunnel", {}, CLOSE_CODES.protocolError, FRAME_TYPES.notice, 0, "{}"],
  ["an ADMITTED on a tunnel", {}, CLOSE_CODES.protocolError, FRAME_TYPES.admitted, 1, "{}"],
  ["a NOTICE on a stream", ignored, CLOSE_CODES.protocolError, FRAME_TYPES.notice, 1, "{}"],
  ["a NOTICE that is no JSON", ignored, CLOSE_CODES.protocolError, FRAME_TYPES.notice, 0, "{]"],
  ["a NOTICE that is a list", ignored, CLOSE_CODES.protocolError, FRAME_TYPES.notice, 0, "[]"],
  [
    "an ADMITTED that is no JSON",
    ignored,
    CLOSE_CODES.protocolError,
    FRAME_TYPES.admitted,
    1,
    "{]",
  ],
  ["an ADMITTED of no stream", ignored, CLOSE_CODES.unknownStream, FRAME_TYPES.admitted, 9, "{}"],
])("%s closes it", async (_title, asking, code, type, streamId, text) => {
  const { hub, right, closes } = openLink({ asking, answering: ignored });
  await delivered();
  hub.open(post, [], {
    onHead() {},
    onData: () => true,
    onEnd() {},
    onReset() {},
    onClosed() {},
  });
  right.send(frame(type, streamId, text));
  await delivered();
  expect(closes[0]).toEqual(["asking", code]);
});

test("ADMITTED twice, or after RESPONSE, closes the link", async () => {
  for (const early of [FRAME_TYPES.admitted, FRAME_TYPES.response]) {
    const { hub, right, closes } = openLink({ asking: ignored, answering: ignored });
    await delivered();
    hub.open(post, [], {
      onHead() {},
      onData: () => true,
      onEnd() {},
      onReset() {},
      onClosed() {},
    });
    const head = '{"status":200,"headers":{},"end":false}';
    const first =
      early === FRAME_TYPES.admitted ? "{}" : `\0\0\0${String.fromCharCode(head.length)}${head}`;
    right.send(frame(early, 1, first));
    right.send(frame(FRAME_TYPES.admitted, 1, "{}"));
    await delivered();
    expect(closes[0]).toEqual(["asking", CLOSE_CODES.protocolError]);
  }
});
