import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { createGate, type Gate, until } from "../support/waiting.ts";

const oldKey = "CANARY-old-key-7f3a";
const newKey = "CANARY-new-key-b41c";
const ask = { model: "*", messages: [{ role: "user", content: "hello" }] };

/** A model server whose models come late: once the gate is open they are sent, or the connection is reset. */
async function startLateServer(gate: Gate, end: "answer" | "reset") {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume();
    if (request.url !== "/v1/models") return void response.writeHead(404).end("{}");
    void gate.opened.then(() => {
      if (end === "reset") request.socket.resetAndDestroy();
      else response.setHeader("content-type", "application/json").end('{"data":[{"id":"m"}]}');
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("a key that its provider repeats after", () => {
  const changes: Record<string, (hub: TestHub, code: string, endpoint: string) => unknown> = {
    "its owner left": (hub, code) => hub.client.leave(code, "ada"),
    "it was changed": (hub, code) =>
      hub.client.updateParticipant(code, "ada", { authHeaders: { "x-api-key": newKey } }),
    "it was dropped": (hub, code) =>
      hub.client.updateParticipant(code, "ada", { authHeaders: null }),
    "its owner joined again without it": (hub, code, endpoint) =>
      joinDirect(hub, code, { endpoint }),
  };

  test.each(Object.entries(changes))(
    "%s is in no answer, event or log line",
    async (_what, change) => {
      const gate = createGate();
      const message = `quota of key ${oldKey} exceeded`;
      await using provider = await startFakeProvider({
        behave: ({ json }) =>
          json["messages"] === undefined
            ? undefined
            : { kind: "status", status: 400, body: { error: { message } }, gate: gate.opened },
      });
      await using hub = await startTestHub({ logFormat: "text" });
      const code = await hub.createRoom();
      await using events = await hub.watch(code);
      const authHeaders = { "x-api-key": oldKey };
      await joinDirect(hub, code, { endpoint: provider.url, authHeaders });
      const asking = hub.fetch(`/rooms/${code}/v1/chat/completions`, { json: ask });
      await provider.waitFor(({ requests }) => requests.some(({ json }) => json["messages"]));
      await change(hub, code, provider.url);
      gate.open();
      const answer = await (await asking).text();
      const told = await events.next("llm.error");
      expect(answer).toContain("[redacted] exceeded");
      expect(told.data["error"]).toContain("[redacted] exceeded");
      expect([answer, events.text, hub.log.join("")].join()).not.toContain("CANARY");
    },
  );
});

describe("an endpoint that a participant left", () => {
  test("gets no key of the new one in the requests it still receives", async () => {
    const gate = createGate();
    await using old = await startLateServer(gate, "answer");
    await using provider = await startFakeProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const authHeaders = { "x-api-key": oldKey };
    const joining = joinDirect(hub, code, { endpoint: old.url, authHeaders });
    await until(
      "a look at the models",
      () => old.requests.length,
      (count) => count > 0,
    );
    await hub.client.updateParticipant(code, "ada", {
      endpoint: provider.url,
      authHeaders: { "x-api-key": newKey },
    });
    gate.open();
    await joining;
    await until(
      "the look at what it can do",
      () => old.requests.length,
      (count) => count > 3,
    );
    expect(old.requests.map(({ headers }) => headers["x-api-key"])).not.toContain(newKey);
  });

  test("changes nothing about the new one when it fails late", async () => {
    const gate = createGate();
    await using old = await startLateServer(gate, "reset");
    await using provider = await startFakeProvider();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const joining = joinDirect(hub, code, { endpoint: old.url });
    await until(
      "a look at the models",
      () => old.requests.length,
      (count) => count > 0,
    );
    const { participant, warnings } = await hub.client.updateParticipant(code, "ada", {
      endpoint: provider.url,
    });
    expect(participant.connection).toMatchObject({ connected: true });
    expect(warnings ?? []).toEqual([]);
    gate.open();
    await joining;
    const answer = await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json: ask });
    expect(answer.status).toBe(200);
  });
});
