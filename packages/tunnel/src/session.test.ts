import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { AgentSession } from "./agent-session.ts";
import type { IncomingRequest, RequestBodyHandler, Responder } from "./streams/agent-stream.ts";
import { CLOSE_CODES } from "./wire/close-code.ts";
import type { Hello } from "./wire/hello.ts";
import { RequesterSession } from "./requester-session.ts";
import type { RequestStream, ResponseHandler } from "./streams/outgoing-request.ts";
import { memoryTransportPair } from "./transport/memory-transport.fixture.ts";
import type { RequestHead, ResponseHead } from "./wire/message-head.ts";
import { RESET_CODES } from "./wire/reset-code.ts";
import type { TunnelStatus } from "./wire/status.ts";
import { TUNNEL_SUBPROTOCOL, WS_LIMITS } from "./transport/transport.ts";
import type { Transport } from "./transport/transport.ts";
import { wsTransport } from "./transport/ws-transport.ts";

interface Ends {
  hub: Transport;
  agent: Transport;
  dispose(): Promise<void>;
}

async function openMemory(): Promise<Ends> {
  const [hub, agent] = memoryTransportPair();
  return { hub, agent, dispose: async () => {} };
}

async function openWebSocket(): Promise<Ends> {
  const server = new WebSocketServer({ ...WS_LIMITS, port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, TUNNEL_SUBPROTOCOL, WS_LIMITS);
  const [[accepted]] = (await Promise.all([once(server, "connection"), once(socket, "open")])) as [
    [WebSocket],
    unknown,
  ];
  return {
    hub: wsTransport(accepted),
    agent: wsTransport(socket),
    async dispose() {
      socket.terminate();
      accepted.terminate();
      server.close();
      await once(server, "close");
    },
  };
}

/** What happened, in order, and a way to wait for it. */
class Journal {
  readonly entries: string[] = [];
  #wake: (() => void)[] = [];

  add(entry: string): void {
    this.entries.push(entry);
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }

  async until(entry: string): Promise<void> {
    while (!this.entries.includes(entry)) {
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }
}

class Received extends Journal implements ResponseHandler {
  head: ResponseHead | undefined;
  bytes = 0;
  chunks = 0;
  text = "";
  isBehind = false;
  keepsText = true;

  onHead(head: ResponseHead): void {
    this.head = head;
    this.add(`head ${head.status}`);
  }

  onData(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    this.chunks += 1;
    if (this.keepsText) this.text += chunk.toString();
    this.add("data");
    return !this.isBehind;
  }

  onEnd(): void {
    this.add("end");
  }

  onReset(code: number): void {
    this.add(`reset ${code}`);
  }

  onClosed(): void {
    this.add("closed");
  }

  /** The entries without data. */
  get story(): string[] {
    return this.entries.filter((entry) => entry !== "data");
  }
}

class Incoming extends Journal implements RequestBodyHandler {
  readonly request: IncomingRequest;
  bytes: number;
  onDrained: (() => void) | undefined;
  isBehind = false;

  constructor(request: IncomingRequest) {
    super();
    // The message that it came with is valid until this returns.
    this.request = { ...request, body: Buffer.from(request.body) };
    this.bytes = request.body.length;
  }

  get responder(): Responder {
    return this.request.responder;
  }

  onBody(chunk: Buffer): boolean {
    this.bytes += chunk.length;
    this.add("body");
    return !this.isBehind;
  }

  onBodyEnd(): void {
    this.add("body end");
  }

  onReset(code: number): void {
    this.add(`reset ${code}`);
  }

  onDrain(): void {
    this.onDrained?.();
    this.add("drain");
  }
}

const post: RequestHead = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: { "content-type": "application/json" },
  protocol: "chat_completions",
  stream: true,
};
const mib = 1024 * 1024;
const ok: ResponseHead = { status: 200, headers: { "content-type": "text/plain" } };

interface Tuning {
  maxStreams?: number;
  responseWindowBytes?: number;
  onRequest?: (incoming: Incoming) => void;
}

async function startTunnel(open: () => Promise<Ends>, tuning: Tuning = {}) {
  const ends = await open();
  const events = new Journal();
  const requests: Incoming[] = [];
  const errors: unknown[] = [];
  const hellos: Hello[] = [];
  const statuses: TunnelStatus[] = [];
  const messageBytes: number[] = [];
  const agentSend = ends.agent.send.bind(ends.agent);
  ends.agent.send = (message) => {
    messageBytes.push(message.length);
    agentSend(message);
  };
  const agent = new AgentSession(ends.agent, {
    maxStreams: tuning.maxStreams ?? 256,
    requestWindowBytes: undefined,
    capabilities: { chat_completions: "supported" },
    pingIntervalMs: undefined,
    handlers: {
      onHello: () => events.add("agent hello"),
      onRequest(request) {
        const incoming = new Incoming(request);
        requests.push(incoming);
        tuning.onRequest?.(incoming);
        events.add(`request ${requests.length}`);
        return incoming;
      },
      onGoAway: (reason) => events.add(`agent goaway ${reason}`),
      onClose: (code, reason) => events.add(`agent close ${code} ${reason}`),
      onError: (error) => errors.push(error),
    },
  });
  const hub = new RequesterSession(ends.hub, {
    responseWindowBytes: tuning.responseWindowBytes ?? 256 * 1024,
    maxStreams: 256,
    pingIntervalMs: undefined,
    handlers: {
      onHello(hello) {
        hellos.push(hello);
        events.add("hub hello");
      },
      onStatus(status) {
        statuses.push(status);
        events.add("status");
      },
      onLife: () => events.add("life"),
      onGoAway: (reason) => events.add(`hub goaway ${reason}`),
      onClose: (code, reason) => events.add(`hub close ${code} ${reason}`),
      onError: (error) => errors.push(error),
    },
  });
  await events.until("hub hello");
  await events.until("agent hello");
  return {
    ends,
    hub,
    agent,
    events,
    requests,
    errors,
    hellos,
    statuses,
    messageBytes,
    async firstRequest(): Promise<Incoming> {
      await events.until("request 1");
      return requests[0]!;
    },
    send(body: readonly Buffer[] = []): { received: Received; stream: RequestStream } {
      const received = new Received();
      return { received, stream: hub.open(post, body, received) };
    },
    async [Symbol.asyncDispose]() {
      hub.close(CLOSE_CODES.done, "");
      agent.close(CLOSE_CODES.done, "");
      await ends.dispose();
    },
  };
}

function reply(text: string): (incoming: Incoming) => void {
  return ({ responder }) => {
    responder.head(ok);
    responder.write(Buffer.from(text));
    responder.end();
  };
}

/** Writes until the credit is used up, and goes on at each drain. */
function pour(incoming: Incoming, totalBytes: number, chunkBytes: number): void {
  const { responder } = incoming;
  let left = totalBytes;
  const more = (): void => {
    while (left > 0) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, left), 120);
      left -= chunk.length;
      if (!responder.write(chunk)) break;
    }
    if (left === 0) responder.end();
  };
  incoming.onDrained = () => {
    if (left > 0) more();
  };
  responder.head(ok);
  more();
}

describe.each([
  ["memory", openMemory],
  ["WebSocket", openWebSocket],
])("over %s", (_, open) => {
  test("HELLO gives each side the other's limits", async () => {
    await using tunnel = await startTunnel(open);
    expect(tunnel.hellos).toEqual([
      {
        maxStreams: 256,
        windowBytes: 1024 * 1024,
        capabilities: { chat_completions: "supported" },
      },
    ]);
    expect(tunnel.hub.isReady).toBe(true);
  });

  test("STATUS reaches the hub", async () => {
    await using tunnel = await startTunnel(open);
    const loading = { ready: false, readiness: "loading", reason: "is loading its model" };
    tunnel.agent.sendStatus(loading);
    await tunnel.events.until("status");
    expect(tunnel.statuses).toEqual([{ ...loading, capabilities: undefined }]);
  });

  test("a small response written in one turn is one frame with head, body and end", async () => {
    await using tunnel = await startTunnel(open, { onRequest: reply("hello") });
    tunnel.messageBytes.length = 0;
    const { received } = tunnel.send([Buffer.from("{}")]);
    await received.until("closed");
    expect(received.entries).toEqual(["head 200", "data", "end", "closed"]);
    expect(received.head).toEqual(ok);
    expect(received.text).toBe("hello");
    const head = JSON.stringify({ status: 200, headers: ok.headers, end: true });
    expect(tunnel.messageBytes).toEqual([9 + 4 + head.length + 5]);
    expect(tunnel.requests[0]!.request).toMatchObject({ head: post, end: true });
    expect(tunnel.requests[0]!.request.body.toString()).toBe("{}");
    expect([tunnel.hub.activeStreams, tunnel.agent.activeStreams]).toEqual([0, 0]);
  });

  test("a streamed response is received chunk by chunk", async () => {
    await using tunnel = await startTunnel(open);
    const { received } = tunnel.send();
    const { responder } = await tunnel.firstRequest();
    responder.head(ok);
    await received.until("head 200");
    for (const word of ["one ", "two ", "three"]) {
      responder.write(Buffer.from(word));
      const { chunks } = received;
      while (received.chunks === chunks) await new Promise<void>((done) => setImmediate(done));
    }
    responder.end();
    await received.until("closed");
    expect([received.text, received.chunks]).toEqual(["one two three", 3]);
  });

  test("an 8 MB body of uneven buffers is sent completely, within the agent's window", async () => {
    await using tunnel = await startTunnel(open);
    const body = Array.from({ length: 61 }, (_, i) => Buffer.alloc(i * 4_371, i));
    const total = body.reduce((sum, { length }) => sum + length, 0);
    expect(total).toBeGreaterThan(7_900_000);
    const { received } = tunnel.send(body);
    const incoming = await tunnel.firstRequest();
    expect(incoming.request.body).toHaveLength(16 * 1024);
    await incoming.until("body end");
    expect(incoming.bytes).toBe(total);
    reply("thanks")(incoming);
    await received.until("closed");
    expect(received.text).toBe("thanks");
  });

  test("a body that is sent while it comes waits for the agent's reader, and drains", async () => {
    await using tunnel = await startTunnel(open, {
      onRequest: (incoming) => (incoming.isBehind = true),
    });
    const received = new Received();
    const handler = Object.assign(received, { onBodyDrain: () => received.add("drain") });
    const stream = tunnel.hub.open({ ...post, bodyBytes: 2 * mib }, "streamed", handler);
    const incoming = await tunnel.firstRequest();
    expect(incoming.request).toMatchObject({ end: false, head: { bodyBytes: 2 * mib } });
    const half = Buffer.alloc(mib);
    expect(stream.writeBody(half)).toBe(true);
    expect(stream.writeBody(half)).toBe(false);
    while (incoming.bytes < mib) await new Promise<void>((done) => setImmediate(done));
    expect([incoming.bytes, received.entries]).toEqual([mib, []]);
    incoming.isBehind = false;
    incoming.responder.resumeBody();
    await received.until("drain");
    stream.endBody();
    await incoming.until("body end");
    expect([incoming.bytes, received.entries]).toEqual([2 * mib, ["drain"]]);
    reply("thanks")(incoming);
    await received.until("closed");
    expect(stream.writeBody(half)).toBe(true);
  });

  test("a request body stops at one window while the agent's reader is behind", async () => {
    await using tunnel = await startTunnel(open, {
      onRequest: (incoming) => (incoming.isBehind = true),
    });
    tunnel.send([Buffer.alloc(3 * 1024 * 1024)]);
    const other = tunnel.send([Buffer.from("{}")]);
    const slow = await tunnel.firstRequest();
    await tunnel.events.until("request 2");
    reply("quick")(tunnel.requests[1]!);
    await other.received.until("closed");
    expect(slow.bytes).toBe(1024 * 1024);
    slow.isBehind = false;
    slow.responder.resumeBody();
    await slow.until("body end");
    expect(slow.bytes).toBe(3 * 1024 * 1024);
  });

  test("isBodyTaken is true once the whole body is in frames or the stream is aborted", async () => {
    await using tunnel = await startTunnel(open, {
      onRequest: (incoming) => (incoming.isBehind = true),
    });
    const body = [Buffer.alloc(3 * 1024 * 1024)];
    const { stream } = tunnel.send(body);
    const given = tunnel.send(body).stream;
    expect([stream.isBodyTaken, given.isBodyTaken]).toEqual([false, false]);
    given.reset(RESET_CODES.cancelled, "client disconnected");
    expect([stream.isBodyTaken, given.isBodyTaken]).toEqual([false, true]);
    const slow = await tunnel.firstRequest();
    slow.isBehind = false;
    slow.responder.resumeBody();
    await slow.until("body end");
    expect(stream.isBodyTaken).toBe(true);
    expect(tunnel.send([Buffer.from("{}")]).stream.isBodyTaken).toBe(true);
  });

  test("a slow reader pauses only its own stream, at one window; all bytes arrive", async () => {
    const windowBytes = 64 * 1024;
    await using tunnel = await startTunnel(open, { responseWindowBytes: windowBytes });
    const slow = tunnel.send();
    slow.received.keepsText = false;
    slow.received.isBehind = true;
    pour(await tunnel.firstRequest(), 5_000_000, 10_007);
    const quick = tunnel.send();
    await tunnel.events.until("request 2");
    quick.received.keepsText = false;
    pour(tunnel.requests[1]!, 1_000_000, 10_007);
    await quick.received.until("closed");
    expect(quick.received.bytes).toBe(1_000_000);
    expect(slow.received.bytes).toBe(windowBytes);
    while (!slow.received.entries.includes("closed")) {
      const before = slow.received.bytes;
      slow.stream.resume();
      while (slow.received.bytes === before && !slow.received.entries.includes("closed")) {
        await new Promise<void>((done) => setImmediate(done));
      }
      expect(slow.received.bytes - before).toBeLessThanOrEqual(windowBytes);
    }
    expect(slow.received.bytes).toBe(5_000_000);
    expect(slow.received.story).toEqual(["head 200", "end", "closed"]);
  });

  test("a cancelled stream keeps its slot until the agent confirms, and gets no other callback", async () => {
    await using tunnel = await startTunnel(open);
    const { received, stream } = tunnel.send();
    const incoming = await tunnel.firstRequest();
    incoming.responder.head(ok);
    await received.until("head 200");
    stream.reset(RESET_CODES.cancelled, "client disconnected");
    stream.reset(RESET_CODES.internal, "twice");
    await incoming.until("reset 1");
    expect(incoming.responder.write(Buffer.from("too late"))).toBe(false);
    expect([tunnel.hub.activeStreams, tunnel.agent.activeStreams]).toEqual([1, 1]);
    incoming.responder.end();
    await received.until("closed");
    expect(received.entries).toEqual(["head 200", "closed"]);
    expect(incoming.entries).toEqual(["reset 1"]);
    expect([tunnel.hub.activeStreams, tunnel.agent.activeStreams]).toEqual([0, 0]);
  });

  test("an unconfirmed cancel frees the slot after 5 s, and late frames are ignored", async () => {
    await using tunnel = await startTunnel(open, { maxStreams: 1 });
    const { received, stream } = tunnel.send();
    const incoming = await tunnel.firstRequest();
    stream.reset(RESET_CODES.cancelled, "");
    tunnel.hub.tick(1_000);
    tunnel.hub.tick(5_999);
    expect(received.entries).toEqual([]);
    tunnel.hub.tick(6_000);
    expect(received.entries).toEqual(["closed"]);
    await incoming.until("reset 1");
    const refused = tunnel.send();
    await refused.received.until("closed");
    expect(refused.received.entries).toEqual([`reset ${RESET_CODES.overloaded}`, "closed"]);
    incoming.responder.reset(RESET_CODES.cancelled, "late");
    const next = tunnel.send();
    await tunnel.events.until("request 2");
    reply("fine")(tunnel.requests[1]!);
    await next.received.until("closed");
    expect(next.received.text).toBe("fine");
    expect(received.entries).toEqual(["closed"]);
  });

  test("an agent that aborts resets its stream with a code and without confirmation", async () => {
    await using tunnel = await startTunnel(open, {
      onRequest: ({ responder }) => responder.reset(RESET_CODES.refused, "not on the list"),
    });
    const { received } = tunnel.send();
    await received.until("closed");
    expect(received.entries).toEqual([`reset ${RESET_CODES.refused}`, "closed"]);
  });

  test("a response that ends before its request stops the request body", async () => {
    await using tunnel = await startTunnel(open, { onRequest: reply("too large") });
    const { received } = tunnel.send([Buffer.alloc(4 * 1024 * 1024)]);
    await received.until("closed");
    const next = tunnel.send();
    await next.received.until("closed");
    expect([received.text, next.received.text]).toEqual(["too large", "too large"]);
    expect(tunnel.hub.isOpen).toBe(true);
  });

  test("a tunnel that breaks mid-stream resets both handlers once, then closes both sessions", async () => {
    await using tunnel = await startTunnel(open);
    const { received } = tunnel.send();
    const incoming = await tunnel.firstRequest();
    incoming.responder.head(ok);
    await received.until("head 200");
    tunnel.ends.agent.terminate();
    await received.until("closed");
    await incoming.until("reset 255");
    expect(received.entries).toEqual(["head 200", "reset 255", "closed"]);
    await tunnel.events.until("hub close 1006 ");
    incoming.responder.write(Buffer.from("x"));
    incoming.responder.end();
    expect(incoming.entries).toEqual(["reset 255"]);
    const late = tunnel.send();
    expect(late.received.entries).toEqual([]);
    await late.received.until("closed");
    expect(late.received.entries).toEqual(["reset 255", "closed"]);
  });

  test("closing delivers what was written before, then code and reason", async () => {
    await using tunnel = await startTunnel(open);
    const { received } = tunnel.send();
    reply("last words")(await tunnel.firstRequest());
    tunnel.agent.close(CLOSE_CODES.goingAway, "bye");
    await received.until("closed");
    expect(received.story).toEqual(["head 200", "end", "closed"]);
    await tunnel.events.until("hub close 1001 bye");
    expect(tunnel.events.entries.filter((entry) => entry.includes("close"))).toHaveLength(2);
  });

  test("200 parallel streams each get their own response", async () => {
    await using tunnel = await startTunnel(open, {
      onRequest: (incoming) => {
        const text = incoming.request.body.toString();
        incoming.responder.head(ok);
        setImmediate(() => {
          incoming.responder.write(Buffer.from(`${text} `));
          setImmediate(() => {
            incoming.responder.write(Buffer.from(text));
            incoming.responder.end();
          });
        });
      },
    });
    const sent = Array.from({ length: 200 }, (_, i) => tunnel.send([Buffer.from(`n${i}`)]));
    await Promise.all(sent.map(({ received }) => received.until("closed")));
    expect(sent.map(({ received }) => received.text)).toEqual(sent.map((_, i) => `n${i} n${i}`));
  });

  test("after GOAWAY running streams complete and new ones are refused", async () => {
    await using tunnel = await startTunnel(open);
    const { received } = tunnel.send();
    const incoming = await tunnel.firstRequest();
    tunnel.agent.goAway("updating");
    await tunnel.events.until("hub goaway updating");
    expect(tunnel.hub.isReady).toBe(false);
    const refused = tunnel.send();
    await refused.received.until("closed");
    expect(refused.received.entries).toEqual(["reset 255", "closed"]);
    reply("done")(incoming);
    await received.until("closed");
    expect(received.text).toBe("done");
    tunnel.hub.goAway("me too");
    await tunnel.events.until("agent goaway me too");
  });

  test("an idle tunnel stays open while pings get pongs", async () => {
    await using tunnel = await startTunnel(open);
    for (let round = 0; round < 5; round += 1) {
      const before = tunnel.events.entries.filter((entry) => entry === "life").length;
      tunnel.hub.tick(round * 10_000);
      while (tunnel.events.entries.filter((entry) => entry === "life").length === before) {
        await new Promise<void>((done) => setImmediate(done));
      }
    }
    expect(tunnel.hub.isOpen).toBe(true);
  });

  test("a handler that throws ends its stream and not the session", async () => {
    await using tunnel = await startTunnel(open, {
      onRequest(incoming) {
        if (incoming.request.body.toString() === "throw") throw new Error("agent bug");
        reply("fine")(incoming);
      },
    });
    const failed = tunnel.send([Buffer.from("throw")]);
    await failed.received.until("closed");
    expect(failed.received.entries).toEqual([`reset ${RESET_CODES.internal}`, "closed"]);
    for (const callback of ["onHead", "onData", "onEnd", "onClosed"] as const) {
      const { received } = tunnel.send();
      const original = received[callback].bind(received) as (argument: unknown) => unknown;
      const throwing = (argument: unknown): never => {
        original(argument);
        throw new Error(callback);
      };
      Object.assign(received, { [callback]: throwing });
      await received.until("closed");
    }
    const { received } = tunnel.send();
    await received.until("closed");
    expect(received.text).toBe("fine");
    expect(tunnel.errors.map((error) => (error as Error).message)).toEqual([
      "agent bug",
      "onHead",
      "onData",
      "onEnd",
      "onClosed",
    ]);
    expect(tunnel.hub.activeStreams).toBe(0);
  });
});
