import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { resolveLimits, systemWorld } from "@roomhub/protocol";
import { AgentSession, CLOSE_CODES, TUNNEL_SUBPROTOCOL, wsTransport } from "@roomhub/tunnel";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { aParticipant } from "../../domain/room.fixture.ts";
import { createTunnelAcceptor } from "./accept.ts";
import { TunnelRegistry } from "./registry.ts";
import { ResumableSessions } from "./resumable-sessions.ts";

test.each([
  [true, "hello"],
  [false, CLOSE_CODES.goingAway],
])("a session begins only where its participant is: %s", async (isPresent, expected) => {
  const participant = aParticipant({ id: "ada" });
  const registry = new TunnelRegistry();
  const sessions = new ResumableSessions(systemWorld, "");
  const accept = createTunnelAcceptor(
    { world: systemWorld, registry, sessions, limits: resolveLimits(undefined) },
    {
      ...{ opening() {}, resuming() {}, reported() {} },
      ...{ isPresent: () => isPresent, endsWithHub: () => false, homeEpochOf: () => undefined },
      bug(error) {
        throw error;
      },
    },
  );
  const server = createServer().on("upgrade", (request, socket, head) =>
    accept(participant, "a session that has ended", request, socket, head),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, TUNNEL_SUBPROTOCOL);
  await once(socket, "open");
  const { promise: seen, resolve } = Promise.withResolvers<unknown>();
  const session = new AgentSession(wsTransport(socket), {
    ...{ world: systemWorld, bootId: "this run", maxStreams: 1, capabilities: {} },
    ...{ requestWindowBytes: undefined, pingIntervalMs: undefined, resumes: undefined },
    handlers: {
      onHello: () => resolve("hello"),
      onClose: (code) => resolve(code),
      onRequest: () => ({ onBody: () => true, onBodyEnd() {}, onReset() {}, onDrain() {} }),
      onGoAway() {},
      onError: resolve,
    },
  });
  expect(await seen).toBe(expected);
  expect(registry.sessionOf(participant) !== undefined).toBe(isPresent);
  session.close(CLOSE_CODES.done, "the test is over");
  server.close();
});
