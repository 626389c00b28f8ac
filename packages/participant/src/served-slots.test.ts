import { systemWorld } from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import type { ModelServer, ProviderSink } from "@roomhub/provider";
import type { IncomingRequest } from "@roomhub/tunnel";
import { expect, test, vi } from "vitest";
import { EndpointSlots } from "./endpoint-slots.ts";
import { send, startFakeHub } from "./fake-hub.fixture.ts";
import { startFakeModelServer } from "./fake-model-server.fixture.ts";
import { createRequestHeads } from "./request-heads.ts";
import { type ServeDeps, serveRequest } from "./served-request.ts";
import { createTestParticipant, startWith } from "./test-participant.fixture.ts";

/** A program with two participants in front of one model server, which has one slot, in rooms of two hubs. */
async function startTwoRooms(homeEpoch: number | undefined) {
  const responses: ServerResponse[] = [];
  const model = await startFakeModelServer((response) => {
    response.writeHead(200, { "content-type": "application/json" }).write("{");
    responses.push(response);
  });
  const endpointSlots = new EndpointSlots();
  const join = async (id: string) => {
    const hub = await startFakeHub();
    hub.homeEpoch = homeEpoch;
    const config = { maxConcurrency: 1 };
    const agent = createTestParticipant(hub, model.endpoint, { id, config, endpointSlots });
    return { hub, agent, session: await startWith(hub, agent) };
  };
  const [ana, bob] = [await join("ana"), await join("bob")];
  return {
    ...{ ana, bob, responses, model },
    async [Symbol.asyncDispose]() {
      for (const { agent, hub } of [ana, bob]) {
        await agent[Symbol.asyncDispose]();
        await hub.close();
      }
      await model.close();
    },
  };
}

test("a request that the model server has no slot for, of another room's, is sent back to its home", async () => {
  await using it = await startTwoRooms(1);
  const running = send(it.ana.session);
  await running.head;
  const refused = send(it.bob.session);
  await refused.closed;
  expect([refused.status, refused.refusal]).toEqual([429, "busy"]);
  expect(it.bob.agent.notices).toContainEqual(
    expect.objectContaining({ kind: "request-ended", outcome: "refused", code: "busy" }),
  );
  expect(it.responses).toHaveLength(1);
  it.responses[0]?.end("}");
  await running.closed;
  const next = send(it.bob.session);
  await next.head;
  expect(next.status).toBe(200);
});

test("a slot is free when its request is cancelled, or fails", async () => {
  await using it = await startTwoRooms(1);
  const cancelled = send(it.ana.session);
  await cancelled.head;
  cancelled.stream.reset(1, "leaves");
  await cancelled.closed;
  const failed = send(it.bob.session);
  await failed.head;
  it.responses[1]?.destroy();
  await failed.closed;
  const next = send(it.ana.session);
  await next.head;
  expect([failed.status, next.status]).toEqual([200, 200]);
});

test("a room's requests are never sent back for its own", async () => {
  await using it = await startTwoRooms(1);
  const [one, two] = [send(it.ana.session), send(it.ana.session)];
  await Promise.all([one.head, two.head]);
  expect([one.status, two.status]).toEqual([200, 200]);
});

test("a room's next home gets back what the model server has no slot for while it works for the home before", async () => {
  await using it = await startTwoRooms(1);
  const { hub, session } = it.ana;
  const running = send(session);
  await running.head;
  hub.homeEpoch = 2;
  const opened = hub.nextSession();
  session.goAway("the room has another home");
  const next = await opened;
  const refused = send(next);
  await refused.closed;
  expect([refused.status, refused.refusal]).toEqual([429, "busy"]);
  it.responses[0]?.end("}");
  await running.closed;
  const served = send(next);
  await served.head;
  expect(served.status).toBe(200);
});

test("a hub whose rooms have no homes gets no request back", async () => {
  await using it = await startTwoRooms(undefined);
  const [one, two] = [send(it.ana.session), send(it.bob.session)];
  await Promise.all([one.head, two.head]);
  expect([one.status, two.status]).toEqual([200, 200]);
  await vi.waitFor(() => expect(it.responses).toHaveLength(2));
});

test("a slot is free before the hub learns that its request has ended", () => {
  const order: string[] = [];
  const server = {
    call(_request: unknown, sink: ProviderSink) {
      sink.onHead({ status: 200, headers: {} });
      sink.onEnd();
      return { cancel() {}, resume() {}, endBody() {}, writeBody: () => true };
    },
  };
  const deps: Partial<ServeDeps> = {
    server: server as unknown as ModelServer,
    seat: { isFull: () => false, begin: () => () => void order.push("free"), close() {} },
    heads: createRequestHeads({}),
    secrets: { inErrors: undefined, inResponses: undefined },
    world: { ...systemWorld, monotonicMs: () => 0 },
    isMetered: false,
    running: new Set(),
    budget: undefined,
    notify() {},
  };
  const responder = { head() {}, write: () => true, end: () => order.push("end"), reset() {} };
  const head = {
    method: "POST",
    path: "/chat/completions",
    headers: {},
    protocol: "chatCompletions",
    stream: false,
  };
  const request = { head, body: Buffer.from("{}"), end: true, responder };
  serveRequest(request as unknown as IncomingRequest, deps as ServeDeps);
  expect(order).toEqual(["free", "end"]);
});
