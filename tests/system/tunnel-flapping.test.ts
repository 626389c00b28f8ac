import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { ParticipantNotice } from "@roomhub/participant";
import { expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { dialTunnel, openHandAgent } from "../support/hub/hand-agent.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { createManualTime, QUICK_SWEEP } from "../support/hub/manual-time.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { until, within } from "../support/waiting.ts";

/** @returns how the hub refused */
async function refusal(tunnelUrl: string, token: string) {
  const socket = dialTunnel(tunnelUrl, token);
  socket.on("error", () => undefined);
  const [, response] = await within(once(socket, "unexpected-response"), "a refusal");
  let body = "";
  for await (const part of response) body += String(part);
  return {
    status: response.statusCode as number,
    retryAfter: response.headers["retry-after"] as string,
    ...(JSON.parse(body) as { error: { code: string } }).error,
  };
}

test("the sixth tunnel of one token within 10 s is 429, the open one continues, one update reports it", async () => {
  const time = createManualTime();
  await using hub = await startTestHub({
    world: time.world,
    limits: { ...QUICK_SWEEP, offlineAfterMs: 1e9 },
  });
  const code = await hub.createRoom();
  const events = await hub.watch(code);
  const { tunnel, participantToken = "" } = await hub.client.join(code, {
    ...{ id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:9/v1" },
    transport: "tunnel",
  });
  const dials = [];
  for (let count = 0; count < 5; count++) {
    dials.push(await openHandAgent(tunnel.url, participantToken));
  }
  const open = dials.at(-1);

  for (let count = 0; count < 3; count++) {
    expect(await refusal(tunnel.url, participantToken)).toMatchObject({
      ...{ status: 429, code: "tunnel_flapping", retryAfter: "10" },
    });
  }
  const asking = hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model: "ada", user: "one", messages: userSays("hello") },
  });
  const held = await until(
    "the open tunnel to get the request",
    () => open?.held.get("one"),
    (request) => request !== undefined,
  );
  held?.responder.head({ status: 200, headers: { "content-type": "application/json" } });
  held?.responder.write(Buffer.from(`{"choices":[]}`));
  held?.responder.end();
  expect((await asking).status).toBe(200);
  expect(open?.closeCode).toBeUndefined();

  // Events are in order: what was reported before the request is here then.
  await until(
    "the end of the request",
    () => events.of("llm.complete"),
    (ends) => ends.length === 1,
  );

  const problems = () =>
    events
      .of("participant.updated")
      .map(({ data }) => (data["participant"] as { connection: { problem?: string } }).connection)
      .map(({ problem }) => problem ?? "none");
  expect(problems().filter((problem) => /refused: more than 5/.test(problem))).toHaveLength(1);
  const { connection } = await hub.client.getParticipant(code, "ada");
  expect(connection).toMatchObject({
    ...{ connected: true, readiness: "ready" },
    problem: expect.stringContaining("more than 5 were opened with its token within 10 s"),
  });

  const told = problems().length;
  await time.advance(10_000);
  await until("the problem to end", problems, (all) => all.length === told + 1);
  expect(problems().at(-1)).toBe("none");
  const next = await openHandAgent(tunnel.url, participantToken);
  await within(open?.ended ?? Promise.resolve(), "the replaced tunnel's end");
  await next.close();
});

test("a request that went into a tunnel which its agent never read goes to the next one", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const events = await hub.watch(code);
  const { tunnel, participantToken = "" } = await hub.client.join(code, {
    ...{ id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:9/v1" },
    transport: "tunnel",
  });
  // As one whose dial takes too long, and that gives up before the hub's HELLO arrives.
  const deaf = await openHandAgent(tunnel.url, participantToken, true);
  const asking = hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model: "ada", user: "one", messages: userSays("hello") },
  });
  const attempts = () => events.of("llm.request").map(({ data }) => data["attempt"]);
  await until("the request to be sent", attempts, ({ length }) => length === 1);
  const next = await openHandAgent(tunnel.url, participantToken);
  const held = await until(
    "the next tunnel to get the request",
    () => next.held.get("one"),
    (request) => request !== undefined,
  );
  held?.responder.head({ status: 200, headers: { "content-type": "application/json" } });
  held?.responder.write(Buffer.from(`{"choices":[]}`));
  held?.responder.end();
  expect((await asking).status).toBe(200);
  await until("the event of the second attempt", attempts, ({ length }) => length === 2);
  expect(attempts()).toEqual([1, 2]);
  deaf.socket.terminate();
  await next.close();
});

/** Passes connections on until they are cut. */
async function startCable(target: number) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ host: "127.0.0.1", port: target });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => undefined);
      from.on("close", () => (sockets.delete(from), to.destroy()));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}

test("an agent whose tunnels are cut is refused, reports why, waits, and comes back", async () => {
  await using hub = await startTestHub({ limits: { tunnelOpenings: 2, tunnelOpeningsMs: 900 } });
  await using provider = await startFakeProvider();
  await using cable = await startCable(hub.port);
  const code = await hub.createRoom();
  const notices: ParticipantNotice[] = [];
  await using _ada = await joinTunnel(cable, code, {
    endpoint: provider.url,
    onNotice: (notice) => notices.push(notice),
    timing: { backoffBaseMs: 1 },
  });
  const connections = () => notices.filter(({ kind }) => kind === "connected").length;
  const outages = () => notices.filter((notice) => notice.kind === "disconnected");
  cable.cut();
  await until("it to be back", connections, (count) => count === 2);
  cable.cut();
  await until(
    "it to be refused",
    () => outages().at(-1)?.reason,
    (reason) =>
      reason?.startsWith(
        "A tunnel of ada was refused: more than 2 were opened with its token within 0.9 s. (",
      ) === true,
  );
  // In whole seconds, as every `retry-after`.
  expect(outages().at(-1)?.retryInMs).toBeGreaterThanOrEqual(900);
  const { connection } = await hub.client.getParticipant(code, "ada");
  expect(connection.problem).toMatch(/^its tunnel is closed; a tunnel was refused: /);
  await until("it to be back again", connections, (count) => count === 3);
});
