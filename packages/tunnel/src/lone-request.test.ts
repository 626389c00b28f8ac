import { expect, test } from "vitest";
import { AgentSession } from "./agent-session.ts";
import { RequesterSession } from "./requester-session.ts";
import type { Responder } from "./streams/agent-stream.ts";
import { memoryTransportPair } from "./transport/memory-transport.fixture.ts";
import type { Transport } from "./transport/transport.ts";
import { FRAME_TYPES } from "./wire/frame.ts";
import { decodeFrames } from "./wire/frame-decoder.ts";

const head = {
  ...{ method: "POST", path: "/chat/completions", headers: {} },
  ...{ protocol: "chatCompletions", stream: false },
};
const handler = { onHead() {}, onData: () => true, onEnd() {}, onReset() {}, onClosed() {} };
const body = [Buffer.from("{}")];

/** Two ends that know each other. @returns what each has sent since: the types of frames, by message */
async function openTunnel(maxStreams = 8) {
  const [hubEnd, agentEnd] = memoryTransportPair();
  const sent = { hub: [] as string[][], agent: [] as string[][] };
  const responders: Responder[] = [];
  const hub = new RequesterSession(listening(hubEnd, sent.hub), {
    ...{ responseWindowBytes: 100_000, maxStreams },
    pingIntervalMs: undefined,
    handlers: { onHello() {}, onStatus() {}, onLife() {}, onGoAway() {}, onClose() {}, onError },
  });
  const agent = new AgentSession(listening(agentEnd, sent.agent), {
    ...{ maxStreams, requestWindowBytes: 10, capabilities: {}, pingIntervalMs: undefined },
    handlers: {
      ...{ onHello() {}, onGoAway() {}, onClose() {}, onError },
      onRequest({ responder }) {
        responders.push(responder);
        return { onBody: () => true, onBodyEnd() {}, onReset() {}, onDrain() {} };
      },
    },
  });
  while (!hub.isReady) await turn();
  await turn();
  sent.hub.length = 0;
  sent.agent.length = 0;
  return { hub, agent, sent, responders };
}

function listening(transport: Transport, sent: string[][]): Transport {
  const names = new Map(Object.entries(FRAME_TYPES).map(([name, type]) => [type, name]));
  const send = transport.send.bind(transport);
  return Object.assign(transport, {
    send(message: Buffer) {
      const types: string[] = [];
      decodeFrames(message, { onFrame: (type) => types.push(names.get(type) ?? "") });
      sent.push(types);
      send(message);
    },
  });
}

function onError(error: unknown): void {
  throw error;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function respond(responder: Responder | undefined): void {
  responder?.head({ status: 200, headers: {} });
  responder?.write(Buffer.from("{}"));
  responder?.end();
}

test("a lone request is sent when open() returns, and its response when it ends", async () => {
  const { hub, sent, responders } = await openTunnel();
  hub.open(head, body, handler);
  expect(sent.hub).toEqual([["request"]]);
  while (responders.length === 0) await turn();
  respond(responders[0]);
  expect(sent.agent).toEqual([["response"]]);
  for (let turns = 0; turns < 4; turns++) await turn();
  expect([sent.hub.length, sent.agent.length]).toEqual([1, 1]);
});

test("concurrent requests and responses are sent together at the end of the turn", async () => {
  const { hub, sent, responders } = await openTunnel();
  for (let count = 0; count < 3; count++) hub.open(head, body, handler);
  expect(sent.hub).toEqual([["request"]]);
  await turn();
  expect(sent.hub).toEqual([["request"], ["request", "request"]]);
  while (responders.length < 3) await turn();
  respond(responders[0]);
  respond(responders[1]);
  expect(sent.agent).toEqual([]);
  await turn();
  expect(sent.agent).toEqual([["response", "response"]]);
});

test("of many requests in one turn, the agent has eight at a time", async () => {
  const { hub, sent } = await openTunnel(20);
  for (let count = 0; count < 18; count++) hub.open(head, body, handler);
  expect(sent.hub.map(({ length }) => length)).toEqual([1, 8, 8]);
  await turn();
  expect(sent.hub.map(({ length }) => length)).toEqual([1, 8, 8, 1]);
});

test("a request whose body waits for credit is sent at the end of the turn", async () => {
  const { hub, sent } = await openTunnel();
  hub.open(head, [Buffer.alloc(100)], handler);
  expect(sent.hub).toEqual([]);
  await turn();
  expect(sent.hub).toEqual([["request"]]);
});

test("a single stream is sent once per turn, and at once when it ends", async () => {
  const { hub, sent, responders } = await openTunnel();
  hub.open({ ...head, stream: true }, body, handler);
  while (responders.length === 0) await turn();
  responders[0]?.head({ status: 200, headers: {} });
  for (let piece = 0; piece < 3; piece++) responders[0]?.write(Buffer.from("data: x\n\n"));
  expect(sent.agent).toEqual([]);
  await turn();
  responders[0]?.write(Buffer.from("data: y\n\n"));
  responders[0]?.end();
  expect(sent.agent).toEqual([["response"], ["data", "end"]]);
});
