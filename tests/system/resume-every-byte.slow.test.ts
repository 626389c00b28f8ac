import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import {
  AgentSession,
  RequesterSession,
  type IncomingRequest,
  type RequestBodyHandler,
  TUNNEL_SUBPROTOCOL,
  WS_LIMITS,
  wsTransport,
} from "@roomhub/tunnel";
import { expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { within } from "../support/waiting.ts";

type Direction = "to the hub" | "to the agent";

/** A way to the hub on which the first connection breaks after some bytes in one direction. */
async function openCuttingGate(target: number) {
  let cut: { direction: Direction; afterBytes: number } | undefined;
  const passed = { "to the hub": 0, "to the agent": 0 };
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    const limit = cut;
    cut = undefined;
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    const pass = (from: Socket, to: Socket, direction: Direction): void => {
      let left = limit?.direction === direction ? limit.afterBytes : Infinity;
      from.on("data", (bytes: Buffer) => {
        passed[direction] += bytes.length;
        if (bytes.length <= left) to.write(bytes);
        else to.end(bytes.subarray(0, left), end);
        left -= bytes.length;
      });
      from.on("error", end).on("close", end);
    };
    pass(near, far, "to the hub");
    pass(far, near, "to the agent");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    cutNext(direction: Direction, afterBytes: number): void {
      cut = { direction, afterBytes };
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await Promise.resolve();
    },
  };
}

const SECRET = "the session's secret";

/** A hub with sessions, and an agent that repeats what it is sent. */
async function openLab() {
  const sessions = new Map<string, RequesterSession>();
  const server = new WebSocketServer({ ...WS_LIMITS, port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  let greeted = Promise.withResolvers<RequesterSession>();
  let requests = 0;
  server.on("connection", (socket) => {
    const session: RequesterSession = new RequesterSession(wsTransport(socket), {
      responseWindowBytes: 64 * 1024,
      maxStreams: 8,
      pingIntervalMs: undefined,
      resumeMs: 30_000,
      handlers: {
        decideResume({ claim }) {
          const earlier = claim && sessions.get(claim.id);
          if (earlier !== undefined) return { kind: "resume", session: earlier };
          const id = `session-${sessions.size}`;
          sessions.set(id, session);
          return { kind: "new", id, secret: SECRET };
        },
        onHello() {
          // The newest tunnel of a participant wins, as at a hub.
          for (const one of sessions.values()) if (one !== session) one.close(4001, "replaced");
          greeted.resolve(session);
        },
        onStatus() {},
        onLife() {},
        onGoAway() {},
        onClose() {
          for (const [id, one] of sessions) if (one === session) sessions.delete(id);
        },
        onError(error) {
          throw error;
        },
      },
    });
  });
  await using stack = new AsyncDisposableStack();
  const gate = stack.use(await openCuttingGate((server.address() as AddressInfo).port));
  stack.defer(() => server.close());
  const kept = stack.move();

  function echo(request: IncomingRequest): RequestBodyHandler {
    requests += 1;
    const { responder, body, end } = request;
    responder.head({ status: 200, headers: { "content-type": "text/plain" } });
    responder.write(Buffer.from(body));
    if (end) responder.end();
    return {
      onBody(chunk) {
        responder.write(Buffer.from(chunk));
        return true;
      },
      onBodyEnd: () => responder.end(),
      onReset: () => responder.end(),
      onDrain() {},
    };
  }

  /** Dials until a session is open, and again whenever its connection breaks. */
  function keepDialling(earlier: AgentSession | undefined, isOver: () => boolean): void {
    const socket = new WebSocket(gate.url, TUNNEL_SUBPROTOCOL, WS_LIMITS);
    const again = (session: AgentSession | undefined): void => {
      if (!isOver()) keepDialling(session, isOver);
    };
    let isOpen = false;
    socket.on("error", () => {
      if (!isOpen) again(earlier);
    });
    socket.on("open", () => {
      isOpen = true;
      let own: AgentSession | undefined = earlier;
      const session: AgentSession = new AgentSession(wsTransport(socket), {
        maxStreams: 8,
        // Small, so that the request takes several messages each way.
        requestWindowBytes: 512,
        capabilities: {},
        pingIntervalMs: undefined,
        bootId: "boot",
        resumes: earlier?.isInterrupted === true ? earlier : undefined,
        handlers: {
          onHello: () => (own = session),
          onResume: (resumed) => (own = resumed),
          onInterrupted: () => again(own),
          // Of a dial whose HELLO did not come, or of a session that the hub did not have.
          onClose: () => again(own === session ? undefined : own),
          onRequest: echo,
          onGoAway() {},
          onError(error) {
            throw error;
          },
        },
      });
    });
  }

  async function send(hub: RequesterSession, body: Buffer): Promise<string[]> {
    const story: string[] = [];
    const parts: Buffer[] = [];
    const head = { method: "POST", path: "/chat/completions", headers: {} };
    const done = Promise.withResolvers<void>();
    greeted = Promise.withResolvers();
    hub.open({ ...head, protocol: "chatCompletions", stream: true }, [body], {
      onHead: ({ status }) => story.push(String(status)),
      onData: (chunk) => parts.push(Buffer.from(chunk)) > 0,
      onEnd: () => story.push(Buffer.concat(parts).equals(body) ? "the same" : "another"),
      onReset: (code) => story.push(`reset ${code}`),
      onClosed: () => done.resolve(),
    });
    await within(done.promise, "the end of the request");
    return story;
  }

  return {
    gate,
    get requests() {
      return requests;
    },
    /** One request with its response, while the connection breaks once. */
    async exchange(body: Buffer): Promise<string[]> {
      greeted = Promise.withResolvers();
      let isOver = false;
      keepDialling(undefined, () => isOver);
      for (;;) {
        const hub = await within(greeted.promise, "the agent's HELLO");
        const before = requests;
        const story = await send(hub, body);
        // An agent that has not read the hub's HELLO has no session to present: the hub sends the request again, as here.
        if (story[0] === "reset 254") {
          expect(requests).toBe(before);
          continue;
        }
        isOver = true;
        hub.close(1000, "done");
        return story;
      }
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Labs side by side: one exchange waits for the network most of its time. */
const labs = 4;

test.each(["to the hub", "to the agent"] as const)(
  "a connection that breaks at any byte %s loses and repeats nothing",
  { timeout: 300_000 },
  async (direction) => {
    const body = Buffer.from(Array.from({ length: 1_300 }, (_, at) => 65 + (at % 26)));
    await Promise.all(Array.from({ length: labs }, (_, first) => breakAtEvery(first)));

    /** Every fourth byte, from the `first` one on. */
    async function breakAtEvery(first: number): Promise<void> {
      await using lab = await openLab();
      expect(await lab.exchange(body)).toEqual(["200", "the same"]);
      const bytes = lab.gate.passed[direction];
      expect(bytes).toBeGreaterThan(1_500);
      for (let at = first; at <= bytes; at += labs) {
        const before = lab.requests;
        lab.gate.cutNext(direction, at);
        expect([at, ...(await lab.exchange(body))]).toEqual([at, "200", "the same"]);
        expect(lab.requests).toBe(before + 1);
      }
    }
  },
);
