import { expect, test } from "vitest";
import { AgentSession } from "./agent-session.ts";
import { RequesterSession } from "./requester-session.ts";
import { type MemoryTransport, memoryTransportPair } from "./transport/memory-transport.fixture.ts";

const pings = { pingIntervalMs: undefined };

/** Both ends, and what the hub's owner hears of the agent. */
function openTunnel() {
  const [hubEnd, agentEnd] = memoryTransportPair();
  const heard: [what: string, detail: unknown][] = [];
  const hub = new RequesterSession(hubEnd, {
    ...pings,
    responseWindowBytes: 1_000,
    maxStreams: 8,
    handlers: {
      onHello: (_hello, status) => heard.push(["hello", status]),
      onStatus: (status) => heard.push(["status", status]),
      onLife() {},
      onGoAway: (reason) => heard.push(["goAway", reason]),
      onClose: (code) => heard.push(["close", code]),
      onError(error) {
        throw error;
      },
    },
  });
  return { hub, heard, agent: openAgent(agentEnd) };
}

function openAgent(transport: MemoryTransport): AgentSession {
  return new AgentSession(transport, {
    ...pings,
    maxStreams: 8,
    requestWindowBytes: undefined,
    capabilities: { chatCompletions: "supported" },
    handlers: {
      onHello() {},
      onRequest() {
        throw new Error("no request expected");
      },
      onGoAway() {},
      onClose() {},
      onError(error) {
        throw error;
      },
    },
  });
}

/** One message leaves at the end of a turn and arrives in the next but one. */
async function delivered(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test("a STATUS in the same message as HELLO is passed to onHello, then to onStatus", async () => {
  const { agent, heard } = openTunnel();
  const status = { ready: false, reason: "paused", capabilities: { embeddings: "supported" } };
  agent.sendStatus(status);
  await delivered();
  expect(heard).toEqual([
    ["hello", status],
    ["status", status],
  ]);
});

test("an agent that sends no STATUS with its HELLO is ready", async () => {
  const { agent, heard } = openTunnel();
  await delivered();
  expect(heard).toMatchObject([["hello", { ready: true }]]);
  agent.sendStatus({ ready: false, reason: "down" });
  await delivered();
  expect(heard.slice(1)).toEqual([["status", { ready: false, reason: "down" }]]);
});

test("an agent that sends GOAWAY in the same message as HELLO is never ready", async () => {
  const { agent, heard, hub } = openTunnel();
  agent.sendStatus({ ready: true });
  agent.goAway("leaving");
  await delivered();
  expect(heard).toMatchObject([
    ["hello", { ready: false, reason: "leaving" }],
    ["status", { ready: false, reason: "leaving" }],
    ["goAway", "leaving"],
  ]);
  expect(hub.isReady).toBe(false);
});

test("a STATUS after GOAWAY makes no agent ready, but its capabilities count", async () => {
  const { agent, heard } = openTunnel();
  await delivered();
  agent.goAway("leaving");
  await delivered();
  const capabilities = { embeddings: "supported" };
  agent.sendStatus({ ready: true, capabilities });
  agent.sendStatus({ ready: false, readiness: "loading", reason: "is loading its model" });
  await delivered();
  expect(heard.slice(1)).toEqual([
    ["goAway", "leaving"],
    ["status", { ready: false, reason: "leaving", capabilities }],
    ["status", { ready: false, reason: "leaving" }],
  ]);
});
