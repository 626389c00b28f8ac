import { describe, expect, test } from "vitest";
import { AgentSession } from "./agent-session.ts";
import { RequesterSession } from "./requester-session.ts";
import { frame, RawPeer, u32 } from "./raw-peer.fixture.ts";
import { LogBudget } from "./resume/sent-log.ts";
import { ResumableTunnel, turns } from "./resume/resumable-tunnel.fixture.ts";
import { SentLog } from "./resume/sent-log.ts";
import { memoryTransportPair, type MemoryTransport } from "./transport/memory-transport.fixture.ts";
import { CLOSE_CODES } from "./wire/close-code.ts";
import { FRAME_TYPES } from "./wire/frame.ts";
import { encodeHello } from "./wire/hello.ts";

const mib = 1024 * 1024;
const post = { method: "POST", path: "/", headers: {}, protocol: "", stream: true };
const widestWindow = 0x7fff_ffff;

/** A hub whose agent announces the widest window; it acknowledges and reads only when the test says so. */
function startHub({ resumes }: { resumes: boolean }) {
  const peer = new RawPeer();
  const closes: number[] = [];
  const congestion: boolean[] = [];
  const hub: RequesterSession = new RequesterSession(peer, {
    responseWindowBytes: 1_000,
    maxStreams: 64,
    pingIntervalMs: 10_000,
    resumeMs: 30_000,
    handlers: {
      decideResume: () => ({ kind: "new", id: "id", secret: "secret" }),
      onHello() {},
      onStatus() {},
      onLife() {},
      onGoAway() {},
      onClose: (code) => closes.push(code),
      onCongestion: (isCongested) => congestion.push(isCongested),
      onError(error) {
        throw error;
      },
    },
  });
  const resume = resumes ? { resume: { bootId: "boot" } } : {};
  const hello = { maxStreams: 64, windowBytes: widestWindow, capabilities: {}, ...resume };
  peer.feed(frame(FRAME_TYPES.hello, 0, encodeHello(hello)));
  const flush = async () => {
    await turns(2);
  };
  return {
    peer,
    hub,
    closes,
    congestion,
    open(bytes: number) {
      const story: string[] = [];
      hub.open(post, bytes === 0 ? [] : [Buffer.alloc(bytes)], {
        onHead: () => void story.push("head"),
        onData: () => true,
        onEnd: () => void story.push("end"),
        onReset: (_code, reason) => void story.push(reason),
        onClosed: () => void story.push("closed"),
      });
      return story;
    },
    /** body bytes that were sent, by stream */
    async sent(): Promise<number[]> {
      await flush();
      const bytes: number[] = [];
      for (const { type, streamId, payload } of peer.sent) {
        const rides = type === FRAME_TYPES.request ? payload.length : 0;
        const data = type === FRAME_TYPES.data ? payload.length : rides;
        if (streamId > 0) bytes[streamId - 1] = (bytes[streamId - 1] ?? 0) + data;
      }
      return bytes;
    },
    /** All that was sent so far. */
    acknowledge() {
      peer.feed(frame(FRAME_TYPES.ack, 0, u32(peer.messages - 1)));
    },
  };
}

const ignored = { onHead() {}, onData: () => true, onEnd() {}, onReset() {}, onClosed() {} };

/** A hub and an agent that reads every body. */
function connect(
  hubEnd: MemoryTransport,
  agentEnd: MemoryTransport,
  onCongestion: (isCongested: boolean) => void,
) {
  const received = { bytes: 0 };
  const onError = (error: unknown) => {
    throw error;
  };
  const none = () => {};
  const hub = new RequesterSession(hubEnd, {
    ...{ responseWindowBytes: 1_000, maxStreams: 64 },
    pingIntervalMs: undefined,
    handlers: {
      ...{ onHello: none, onStatus: none, onLife: none, onGoAway: none, onClose: none },
      ...{ onCongestion, onError },
    },
  });
  const agent = new AgentSession(agentEnd, {
    ...{ maxStreams: 64, requestWindowBytes: undefined, capabilities: {} },
    pingIntervalMs: undefined,
    handlers: {
      ...{ onHello: none, onGoAway: none, onClose: none, onError },
      onRequest({ body }) {
        received.bytes += body.length;
        const onBody = (chunk: Buffer) => {
          received.bytes += chunk.length;
          return true;
        };
        return { onBody, onBodyEnd: none, onReset: none, onDrain: none };
      },
    },
  });
  return { hub, agent, received };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

describe("a peer that announces a window of 2 GiB", () => {
  test("has no more than 16 MiB of a body under way", async () => {
    const hub = startHub({ resumes: false });
    hub.open(40 * mib);
    const sent = sum(await hub.sent());
    expect(sent).toBeGreaterThanOrEqual(16 * mib);
    expect(sent).toBeLessThan(16 * mib + 1024);
  });

  test("goes on with its session over another connection, since the announced windows are compared", async () => {
    const tunnel = new ResumableTunnel({ windowBytes: widestWindow });
    await tunnel.connect();
    tunnel.send();
    await turns(4);
    await tunnel.cut();
    await tunnel.connect();
    expect(tunnel.hubStory).toEqual(["hello", "interrupted 1", "resumed 1"]);
  });
});

describe("a peer that acknowledges nothing", () => {
  test("gets 8 MiB of bodies, and more as it acknowledges, the streams in turn", async () => {
    const hub = startHub({ resumes: true });
    for (const _ of [1, 2, 3]) hub.open(12 * mib);
    const first = await hub.sent();
    expect(sum(first)).toBeGreaterThanOrEqual(8 * mib);
    expect(sum(first)).toBeLessThan(8 * mib + 256 * 1024);
    hub.acknowledge();
    const second = await hub.sent();
    const gains = second.map((bytes, index) => bytes - (first[index] ?? 0));
    expect(sum(gains)).toBeGreaterThan(7 * mib);
    expect(Math.max(...gains) - Math.min(...gains)).toBeLessThan(256 * 1024);
  });

  test("still gets the requests that begin", async () => {
    const hub = startHub({ resumes: true });
    hub.open(12 * mib);
    await hub.sent();
    hub.open(0);
    await hub.sent();
    const requests = hub.peer.sent.filter(({ type }) => type === FRAME_TYPES.request);
    expect(requests).toHaveLength(2);
  });

  test("for two pings cannot resume any more, and gets the rest without that", async () => {
    const hub = startHub({ resumes: true });
    hub.open(12 * mib);
    await hub.sent();
    for (let nowMs = 0; nowMs <= 30_000; nowMs += 1_000) {
      hub.peer.pong();
      hub.hub.tick(nowMs);
    }
    expect(sum(await hub.sent())).toBeGreaterThanOrEqual(12 * mib);
    expect(hub.closes).toEqual([]);
    hub.acknowledge();
    hub.peer.cut();
    expect(hub.closes).toEqual([1006]);
  });

  test("keeps its session as long as it acknowledges something", async () => {
    const hub = startHub({ resumes: true });
    hub.open(40 * mib);
    for (let nowMs = 0; nowMs <= 60_000; nowMs += 1_000) {
      await hub.sent();
      if (nowMs % 15_000 === 0) hub.acknowledge();
      hub.peer.pong();
      hub.hub.tick(nowMs);
    }
    hub.peer.cut();
    expect([hub.hub.isInterrupted, hub.closes]).toEqual([true, []]);
  });
});

describe("a peer that does not read", () => {
  test("gets no further request above 4 MiB of unsent bytes, until it reads", async () => {
    const hub = startHub({ resumes: false });
    hub.peer.bufferedBytes = 4 * mib + 1;
    expect(hub.open(0)).toEqual([]);
    await turns(1);
    expect(hub.congestion).toEqual([true]);
    const refused = hub.open(0);
    await turns(1);
    expect(refused).toEqual(["the agent reads too slowly", "closed"]);
    hub.peer.bufferedBytes = 0;
    hub.peer.drain();
    expect(hub.congestion).toEqual([true, false]);
    expect(hub.open(0)).toEqual([]);
  });

  test("gets no further byte of a body either", async () => {
    const hub = startHub({ resumes: false });
    hub.peer.keepsUnsent = true;
    hub.open(12 * mib);
    const unread = sum(await hub.sent());
    expect(unread).toBeGreaterThan(4 * mib);
    expect(unread).toBeLessThan(4 * mib + 256 * 1024);
    hub.peer.keepsUnsent = false;
    hub.peer.bufferedBytes = 0;
    hub.peer.drain();
    expect(sum(await hub.sent())).toBeGreaterThanOrEqual(12 * mib);
  });

  test.each([
    ["for good", Number.POSITIVE_INFINITY],
    ["for 20 s", 31_000],
  ])(
    "because its connection was interrupted %s can resume, whatever was unsent or not acknowledged",
    (_what, backMs) => {
      for (const unsent of [100, 0]) {
        const hub = startHub({ resumes: true });
        hub.open(0);
        hub.acknowledge();
        for (let nowMs = 0; nowMs <= 45_000 && !hub.hub.isInterrupted; nowMs += 1_000) {
          if (nowMs === 9_000) hub.open(0);
          if (nowMs === 9_000) hub.peer.bufferedBytes = unsent;
          if (nowMs <= 11_000 || nowMs === backMs) hub.peer.pong();
          hub.hub.tick(nowMs);
        }
        if (backMs < 45_000) hub.peer.cut();
        expect([unsent, hub.hub.isInterrupted, hub.closes]).toEqual([unsent, true, []]);
      }
    },
  );

  test("for two pings is closed as dead, though it is heard, and does not resume", () => {
    const hub = startHub({ resumes: true });
    const story = hub.open(0);
    hub.peer.bufferedBytes = 100;
    for (let nowMs = 0; nowMs <= 30_000 && hub.closes.length === 0; nowMs += 1_000) {
      hub.peer.pong();
      hub.hub.tick(nowMs);
    }
    expect(hub.closes).toEqual([CLOSE_CODES.dead]);
    expect(hub.peer.isTerminated).toBe(true);
    expect(story).toContain("closed");
  });
});

describe("a peer that reads at once", () => {
  test("gets all of many long bodies without a tick, and is congested for no longer than they take", async () => {
    const [hubEnd, agentEnd] = memoryTransportPair();
    const congestion: boolean[] = [];
    const { hub, received } = connect(hubEnd, agentEnd, (is) => congestion.push(is));
    await turns(4);
    for (let count = 0; count < 5; count++) hub.open(post, [Buffer.alloc(3 * mib)], ignored);
    await turns(1);
    expect(congestion[0]).toBe(true);
    await turns(400);
    expect(received.bytes).toBe(15 * mib);
    expect(congestion.at(-1)).toBe(false);
  });
});

describe("a hub's budget for what its sessions may have to send again", () => {
  const message = (bytes: number) => Buffer.alloc(bytes);

  test("drops the largest log when it is used up, and no other", () => {
    const budget = new LogBudget(100);
    const logs = [1, 2, 3].map(() => new SentLog(() => {}, budget));
    for (const log of logs) budget.add(log);
    const [small, large, other] = logs as [SentLog, SentLog, SentLog];
    small.push(message(20));
    large.push(message(60));
    other.push(message(20));
    expect(budget.bytes).toBe(100);
    other.push(message(1));
    expect([small.bytes, large.bytes, other.bytes, budget.bytes]).toEqual([20, 0, 21, 41]);
    expect(large.after(0)).toBeUndefined();
    expect(small.after(0)).toHaveLength(1);
  });

  test("gets back what is acknowledged", () => {
    const budget = new LogBudget(100);
    const log = new SentLog(() => {}, budget);
    budget.add(log);
    for (let count = 1; count <= 50; count++) {
      log.push(message(60));
      log.acknowledge(count);
    }
    expect([log.sent, log.bytes, budget.bytes]).toEqual([50, 0, 0]);
  });
});
