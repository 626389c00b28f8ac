import { describe, expect, test } from "vitest";
import { memoryTransportPair } from "../transport/memory-transport.fixture.ts";
import type { MemoryTransport } from "../transport/memory-transport.fixture.ts";
import { FRAME_TYPES } from "../wire/frame.ts";
import { encodeFrame } from "../wire/frame-writer.ts";
import { ResumableTunnel, turns } from "./resumable-tunnel.fixture.ts";

const OK = { status: 200, headers: {} };

async function connected(...settings: ConstructorParameters<typeof ResumableTunnel>) {
  const tunnel = new ResumableTunnel(...settings);
  await tunnel.connect();
  return tunnel;
}

describe("a broken connection", () => {
  test("pauses a response, which goes on over the next one without a gap or a repetition", async () => {
    const tunnel = await connected();
    const exchange = tunnel.send();
    await turns(4);
    const { responder } = tunnel.last.request;
    responder.head(OK);
    responder.write(Buffer.from("one "));
    await turns(4);
    responder.write(Buffer.from("two "));
    await tunnel.cut();
    responder.write(Buffer.from("three "));
    responder.end();
    await tunnel.connect();
    await turns(6);
    expect(exchange.text).toBe("one two three ");
    expect(exchange.story).toEqual(["head 200", "resumed", "end", "closed"]);
    expect(tunnel.hubStory).toEqual(["hello", "interrupted 1", "resumed 1"]);
    expect(tunnel.agentStory).toEqual(["hello", "interrupted 1", "resumed"]);
  });

  test("is noticed by an agent with a running stream after 2 s of silence, and without one after 20 s", async () => {
    const tunnel = await connected();
    tunnel.ends?.[0].stall();
    for (let nowMs = 0; nowMs <= 19_000; nowMs += 1_000) tunnel.agent?.tick(nowMs);
    expect(tunnel.agentStory).toEqual(["hello"]);
    tunnel.ends?.[0].unstall();
    tunnel.send();
    await turns(4);
    tunnel.ends?.[0].stall();
    for (let nowMs = 20_000; nowMs <= 22_000; nowMs += 1_000) tunnel.agent?.tick(nowMs);
    expect(tunnel.agentStory).toEqual(["hello", "interrupted 1"]);
  });

  test("loses no request that was on its way", async () => {
    const tunnel = await connected();
    const exchange = tunnel.send([Buffer.from("question")]);
    tunnel.ends?.[0].stall();
    await turns(2);
    await tunnel.cut();
    expect(tunnel.served).toEqual([]);
    await tunnel.connect();
    await turns(4);
    expect(tunnel.last.text).toBe("question");
    tunnel.last.request.responder.head(OK);
    tunnel.last.request.responder.end();
    await turns(4);
    expect(exchange.story).toEqual(["resumed", "head 200", "end", "closed"]);
  });

  test("pauses a large request body within its credit", async () => {
    const tunnel = await connected({ windowBytes: 64 * 1024 });
    const body = Buffer.alloc(1_000_000, "body ");
    tunnel.send([body]);
    await turns(5);
    await tunnel.cut();
    await turns(20);
    await tunnel.connect();
    await turns(200);
    expect(tunnel.last.text).toBe(body.toString("latin1"));
    expect(tunnel.last.story).toEqual(["body end"]);
  });

  test("lets the agent read its provider into the credit that is left, and no further", async () => {
    const tunnel = await connected({ windowBytes: 64 * 1024 });
    const exchange = tunnel.send();
    await turns(4);
    await tunnel.cut();
    const { responder } = tunnel.last.request;
    responder.head(OK);
    const chunk = Buffer.alloc(16 * 1024, "x");
    const accepted = [1, 2, 3, 4, 5].map(() => responder.write(chunk));
    expect(accepted).toEqual([true, true, true, false, false]);
    await tunnel.connect();
    await turns(20);
    expect(exchange.text.length).toBe(5 * 16 * 1024);
    expect(tunnel.last.story).toContain("drain");
  });

  test("ends the streams when no other comes in time", async () => {
    const tunnel = await connected({ hubResumeMs: 30_000 });
    const exchange = tunnel.send();
    await turns(4);
    await tunnel.cut();
    tunnel.hub?.tick(1_000);
    tunnel.hub?.tick(30_999);
    expect(exchange.story).toEqual([]);
    tunnel.hub?.tick(31_000);
    expect(exchange.story).toEqual(["reset 255", "closed"]);
    expect(tunnel.hubStory).toEqual(["hello", "interrupted 1", "closed 1006"]);
    tunnel.agent?.tick(1_000);
    tunnel.agent?.tick(35_999);
    expect(tunnel.last.story).not.toContain("reset 255");
    tunnel.agent?.tick(36_000);
    expect(tunnel.last.story).toContain("reset 255");
  });

  test("ends the streams as unread when the agent has sent nothing after its HELLO, and does not claim the session", async () => {
    const tunnel = new ResumableTunnel();
    await tunnel.connect(false);
    const exchange = tunnel.send();
    await turns(4);
    tunnel.hub?.close(4001, "a newer tunnel took its place");
    expect(exchange.story).toEqual(["reset 254", "closed"]);
  });

  test("ends a session without streams at once", async () => {
    const tunnel = await connected();
    await tunnel.cut();
    expect(tunnel.hubStory).toEqual(["hello", "closed 1006"]);
    await tunnel.connect();
    expect(tunnel.agentStory).toEqual(["hello", "interrupted 0", "closed 1000", "hello"]);
  });

  test.each([
    ["the agent", { agentResumes: false }],
    ["the hub", { hubResumeMs: 0 }],
  ])("ends the streams where %s does not resume", async (_who, settings) => {
    const tunnel = await connected(settings);
    const exchange = tunnel.send();
    await turns(4);
    await tunnel.cut();
    expect(exchange.story).toEqual(["reset 255", "closed"]);
    expect(tunnel.last.story).toContain("reset 255");
  });

  test("ends the streams of an agent that has sent GOAWAY", async () => {
    const tunnel = await connected();
    const exchange = tunnel.send();
    await turns(4);
    tunnel.agent?.goAway("leaving");
    await turns(4);
    await tunnel.cut();
    expect(exchange.story).toEqual(["reset 255", "closed"]);
    expect(tunnel.last.story).toContain("reset 255");
  });

  test.each(["before", "while"])("ends no stream of a hub that sent GOAWAY %s", async (when) => {
    const tunnel = await connected();
    const exchange = tunnel.send();
    await turns(4);
    const { responder } = tunnel.last.request;
    responder.head(OK);
    responder.write(Buffer.from("one "));
    if (when === "before") tunnel.hub?.goAway("the room has another home");
    await turns(4);
    await tunnel.cut();
    if (when === "while") tunnel.hub?.goAway("the room has another home");
    await tunnel.connect();
    expect(tunnel.agentStory).toContain("goaway");
    expect(tunnel.hub?.isReady).toBe(false);
    responder.write(Buffer.from("two"));
    responder.end();
    await turns(6);
    expect(exchange.text).toBe("one two");
    expect(exchange.story).toEqual(["head 200", "resumed", "end", "closed"]);
  });

  test("may be noticed by the agent alone: the next one takes the streams from the one that looks alive", async () => {
    const tunnel = await connected();
    const exchange = tunnel.send();
    await turns(4);
    const { responder } = tunnel.last.request;
    responder.head(OK);
    // A half-open connection: nothing passes, and the hub does not see its end.
    for (const end of tunnel.ends ?? []) {
      end.stall();
      end.terminate = () => {};
    }
    responder.write(Buffer.from("one "));
    tunnel.agent?.interrupt("this machine slept");
    expect(tunnel.hub?.isInterrupted).toBe(false);
    await tunnel.connect();
    responder.write(Buffer.from("two"));
    responder.end();
    await turns(6);
    expect(exchange.text).toBe("one two");
    expect(tunnel.hubStory).toEqual(["hello", "resumed 1"]);
  });

  test("can follow another at any time", async () => {
    const tunnel = await connected();
    const exchange = tunnel.send();
    await turns(4);
    const { responder } = tunnel.last.request;
    responder.head(OK);
    for (let round = 0; round < 20; round++) {
      responder.write(Buffer.from(`${round} `));
      await turns(round % 5);
      await tunnel.cut();
      await tunnel.connect();
    }
    responder.end();
    await turns(6);
    expect(exchange.text).toBe(Array.from({ length: 20 }, (_, round) => `${round} `).join(""));
    expect(tunnel.sessions.size).toBe(1);
  });
});

describe("a cancel while the connection is gone", () => {
  test("reaches the agent before the rest of the request, and holds its slot until it is confirmed", async () => {
    const tunnel = await connected({ windowBytes: 64 * 1024 });
    const exchange = tunnel.send([Buffer.alloc(1_000_000, "x")]);
    await turns(4);
    await tunnel.cut();
    exchange.reset();
    tunnel.hub?.tick(1_000);
    tunnel.hub?.tick(20_000);
    expect(tunnel.hub?.activeStreams).toBe(1);
    await tunnel.connect();
    await turns(4);
    expect(tunnel.last.story).toEqual(["reset 1"]);
    tunnel.last.request.responder.end();
    await turns(4);
    expect(exchange.story).toEqual(["closed"]);
  });

  test("frees its slot 5 s after the connection is back if the agent does not confirm it", async () => {
    const tunnel = await connected();
    const exchange = tunnel.send();
    await turns(4);
    await tunnel.cut();
    exchange.reset();
    await tunnel.connect();
    tunnel.hub?.tick(40_000);
    tunnel.hub?.tick(44_999);
    expect(exchange.story).toEqual([]);
    tunnel.hub?.tick(45_000);
    expect(exchange.story).toEqual(["closed"]);
  });
});

describe("a claim", () => {
  /** The hub's end of a connection on which `hello` is the agent's first message. */
  async function claimed(tunnel: ResumableTunnel, resume: object, windowBytes = 1_048_576) {
    const ends = memoryTransportPair();
    const received: string[] = [];
    ends[1].listen({
      onMessage: (message) => received.push(message.toString("utf8", 9)),
      onLife() {},
      onClose: (code) => received.push(`closed ${code}`),
    });
    tunnel.accept(ends[0]);
    const hello = { version: 1, maxStreams: 64, windowBytes, resume };
    ends[1].send(encodeFrame(FRAME_TYPES.hello, JSON.stringify(hello)));
    await turns(6);
    return received;
  }

  const right = { bootId: "boot", id: "session-1", secret: "secret-1", generation: 2 };

  async function waiting() {
    const tunnel = await connected();
    const exchange = tunnel.send();
    await turns(4);
    await tunnel.cut();
    return { tunnel, exchange };
  }

  test("of a session that the hub does not know begins a new one, and ends the streams at the agent", async () => {
    const { tunnel, exchange } = await waiting();
    tunnel.hub?.close(1000, "over");
    await tunnel.connect();
    expect(tunnel.last.story).toContain("reset 255");
    expect(exchange.story).toEqual(["reset 255", "closed"]);
    expect(tunnel.agentStory).toEqual(["hello", "interrupted 1", "closed 1000", "hello"]);
    const again = tunnel.send();
    await turns(4);
    tunnel.last.request.responder.head(OK);
    tunnel.last.request.responder.end();
    await turns(4);
    expect(again.story).toEqual(["head 200", "end", "closed"]);
  });

  test("that goes on with a session or not at all is closed where that is unknown", async () => {
    const { tunnel } = await waiting();
    const only = { ...right, received: 0, sent: 0, only: true };
    tunnel.hub?.close(1000, "over");
    const story = [...tunnel.hubStory];
    expect(await claimed(tunnel, only)).toEqual(["closed 4009"]);
    expect(tunnel.hubStory.slice(story.length)).toEqual(["closed 4009"]);
  });

  test("that goes on with a session or not at all is closed where nothing is resumed", async () => {
    const tunnel = await connected({ hubResumeMs: 0 });
    const only = { ...right, received: 0, sent: 0, only: true };
    expect(await claimed(tunnel, only)).toEqual(["closed 4009"]);
  });

  test.each([
    ["another secret", { ...right, secret: "guess", received: 0, sent: 0 }, 4009],
    ["more messages than were sent", { ...right, received: 5, sent: 0 }, 4002],
    ["fewer sent messages than arrived", { ...right, received: 1, sent: 0xffff_ffff }, 4002],
    ["half a claim", { bootId: "boot", id: "session-1" }, 4002],
  ])("with %s is closed, and the session is untouched", async (_what, resume, code) => {
    const { tunnel, exchange } = await waiting();
    expect(await claimed(tunnel, resume)).toEqual([`closed ${code}`]);
    expect(tunnel.hub?.isInterrupted).toBe(true);
    await tunnel.connect();
    tunnel.last.request.responder.head(OK);
    tunnel.last.request.responder.end();
    await turns(4);
    expect(exchange.story).toEqual(["resumed", "head 200", "end", "closed"]);
  });

  test("that arrives after a newer one is closed, however often it comes, and the newer one goes on", async () => {
    const { tunnel, exchange } = await waiting();
    const late = { ...right, received: 1, sent: 0 };
    await tunnel.connect();
    expect(await claimed(tunnel, late)).toEqual(["closed 4001"]);
    expect(await claimed(tunnel, late)).toEqual(["closed 4001"]);
    tunnel.last.request.responder.head(OK);
    tunnel.last.request.responder.end();
    await turns(4);
    expect(exchange.story).toEqual(["resumed", "head 200", "end", "closed"]);
  });

  test("with another window than that of the session is closed", async () => {
    const { tunnel } = await waiting();
    const resume = { ...right, received: 0, sent: 0 };
    expect(await claimed(tunnel, resume, 65_536)).toEqual(["closed 4002"]);
    expect(tunnel.hub?.isInterrupted).toBe(true);
  });
});

describe("messages", () => {
  /** The lengths of what the hub's end of the connection sends. */
  function watch(end: MemoryTransport): Buffer[] {
    const messages: Buffer[] = [];
    const send = end.send.bind(end);
    end.send = (message) => {
      messages.push(Buffer.from(message));
      send(message);
    };
    return messages;
  }

  const isAckAlone = (message: Buffer) => message.length === 13 && message[0] === FRAME_TYPES.ack;

  test("are acknowledged after 64 KiB in a message of its own, which is not acknowledged itself", async () => {
    const tunnel = await connected({ windowBytes: 256 * 1024 });
    tunnel.send();
    await turns(4);
    const ends = tunnel.ends;
    if (ends === undefined) throw new Error("not connected");
    const sent = watch(ends[0]);
    const answers = watch(ends[1]);
    const { responder } = tunnel.last.request;
    responder.head(OK);
    for (let at = 0; at < 7; at++) responder.write(Buffer.alloc(10_000));
    await turns(10);
    expect(sent.filter(isAckAlone).length).toBe(1);
    expect(answers.filter(isAckAlone)).toEqual([]);
  });

  test("carry an acknowledgement when there is one to give", async () => {
    const tunnel = await connected();
    const exchange = tunnel.send();
    await turns(4);
    const ends = tunnel.ends;
    if (ends === undefined) throw new Error("not connected");
    const answers = watch(ends[1]);
    tunnel.last.request.responder.head(OK);
    tunnel.last.request.responder.end();
    await turns(4);
    expect(exchange.story).toEqual(["head 200", "end", "closed"]);
    expect(answers.length).toBe(1);
    expect(answers[0]?.subarray(-13)).toEqual(Buffer.from("0a000000000000000400000001", "hex"));
  });
});
