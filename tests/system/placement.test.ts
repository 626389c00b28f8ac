import { describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import type { Behaviour } from "../support/providers/fake-provider-behaviour.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

interface Sent {
  model: string;
  messages?: object[];
  headers?: Record<string, string>;
  stream?: boolean;
}

/** Sends a request, and reads its response to the end. @returns the participant that served it */
async function servedBy(hub: TestHub, code: string, sent: Sent): Promise<string> {
  const { model, messages = userSays("hello"), headers = {}, stream = false } = sent;
  const response = await hub.fetch(`/v1/rooms/${code}/chat/completions`, {
    json: { model, messages, stream },
    headers,
  });
  await response.text();
  return response.headers.get("x-roomhub-participant") ?? `status ${response.status}`;
}

function countsOf(ids: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const id of ids) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
}

const isChat = ({ path }: { path: string }) => path === "/v1/chat/completions";

/** Requests that come while it is closed are held until it is released. */
function createGates() {
  const held = Promise.withResolvers<void>();
  let isClosed = false;
  return {
    behave: (): Behaviour =>
      isClosed ? { kind: "normal", gate: held.promise } : { kind: "normal" },
    close: () => void (isClosed = true),
    leaveOpen: () => void (isClosed = false),
    release: () => held.resolve(),
  };
}

/** Two participants with the same model, in this order. */
async function startRoom(maxConcurrency: number, behave?: () => Behaviour | undefined) {
  const providers = [await startFakeProvider({ behave }), await startFakeProvider({ behave })];
  const hub = await startTestHub();
  const code = await hub.createRoom();
  for (const [index, id] of ["ana", "ben"].entries()) {
    const endpoint = providers[index]?.url ?? "";
    await joinDirect(hub, code, { id, endpoint, config: { maxConcurrency } });
  }
  return {
    providers,
    hub,
    code,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      for (const provider of providers) await provider[Symbol.asyncDispose]();
    },
  };
}

describe("requests by model name", () => {
  test("are shared by two participants of one slot each", async () => {
    await using room = await startRoom(1, () => ({ kind: "slow-head", delayMs: 40 }));
    const requests = Array.from({ length: 8 }, () =>
      servedBy(room.hub, room.code, { model: "fake-model" }),
    );
    const counts = countsOf(await Promise.all(requests));
    expect(Object.keys(counts).sort()).toEqual(["ana", "ben"]);
    expect(Math.min(...Object.values(counts))).toBeGreaterThanOrEqual(3);
  });

  test("of one conversation stay where its prompt is warm, although another is free", async () => {
    const gates = createGates();
    await using room = await startRoom(1, gates.behave);
    const { hub, code, providers } = room;
    gates.close();
    const first = servedBy(hub, code, { model: "fake-model" });
    await providers[0]?.waitFor(({ requests }) => requests.some(isChat));
    gates.leaveOpen();
    const turns = [{ role: "user", content: "first turn ".repeat(100) }];
    expect(await servedBy(hub, code, { model: "fake-model", messages: turns })).toBe("ben");
    gates.release();
    expect(await first).toBe("ana");
    for (const text of ["second", "third"]) {
      turns.push({ role: "user", content: `${text} turn` });
      expect(await servedBy(hub, code, { model: "fake-model", messages: turns })).toBe("ben");
    }
  });
});

describe("a session that selects any participant", () => {
  test("stays with the one that chance first gave it", async () => {
    await using room = await startRoom(4);
    const { hub, code } = room;
    for (const session of ["one", "two", "three"]) {
      const headers = { "x-session-id": session };
      const served: string[] = [];
      for (let turn = 0; turn < 12; turn++) {
        served.push(await servedBy(hub, code, { model: "*", headers }));
      }
      expect(new Set(served).size).toBe(1);
    }
  });

  test("without a name is served by all of them", async () => {
    await using room = await startRoom(4);
    const served = await Promise.all(
      Array.from({ length: 40 }, () => servedBy(room.hub, room.code, { model: "*" })),
    );
    expect(Object.keys(countsOf(served)).sort()).toEqual(["ana", "ben"]);
  });

  test("passes over a participant that is at capacity, for that request alone", async () => {
    const gates = createGates();
    await using room = await startRoom(1, gates.behave);
    const { hub, code, providers } = room;
    const headers = { "x-session-id": "s" };
    const home = await servedBy(hub, code, { model: "*", headers });
    gates.close();
    const running = servedBy(hub, code, { model: home });
    const isHome = home === "ana" ? 0 : 1;
    await providers[isHome]?.waitFor(({ requests }) => requests.filter(isChat).length === 2);
    gates.leaveOpen();
    expect(await servedBy(hub, code, { model: "*", headers })).not.toBe(home);
    gates.release();
    await running;
    expect(await servedBy(hub, code, { model: "*", headers })).toBe(home);
  });
});

test("headers that name a session reach the provider", async () => {
  await using room = await startRoom(1);
  const headers = { "x-session-id": "s1", session_id: "s2", "x-openwebui-chat-id": "s3" };
  await servedBy(room.hub, room.code, { model: "ana", headers });
  expect(room.providers[0]?.requests.find(isChat)?.headers).toMatchObject(headers);
});

test("participants of one endpoint share its slots, whatever their models", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  for (const id of ["ana", "ben"]) {
    const config = { maxConcurrency: 3 };
    await joinDirect(hub, code, { id, model: `model of ${id}`, endpoint: provider.url, config });
  }
  const participants = await hub.client.listParticipants(code);
  const machines = participants.map(({ load }) => load.machine);
  expect(machines[0]).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{8}$/), limit: 3 });
  expect(machines[1]).toEqual(machines[0]);
});
