import { TUNNEL_SUBPROTOCOL } from "@roomhub/tunnel";
import { describe, expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { sendBytes } from "../support/clients/raw-http.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

const sockets = {
  tunnel: async (hub: TestHub, code: string) => {
    const { answer } = await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
    return {
      path: `/v1/rooms/${code}/participants/ada/tunnel`,
      headers: {
        authorization: `Bearer ${answer.participantToken}`,
        "sec-websocket-protocol": TUNNEL_SUBPROTOCOL,
      },
    };
  },
  "/responses": async (_hub: TestHub, code: string) => ({
    path: `/v1/rooms/${code}/responses`,
    headers: {},
  }),
};

const faults = [
  { what: "HEAD", method: "HEAD", headers: {} },
  { what: "version 12", headers: { "sec-websocket-version": "12" } },
  { what: "no version", headers: { "sec-websocket-version": undefined } },
  { what: "a short key", headers: { "sec-websocket-key": "c2hvcnQ=" } },
  { what: "no key", headers: { "sec-websocket-key": undefined } },
  {
    what: "a subprotocol twice",
    headers: { "sec-websocket-protocol": `${TUNNEL_SUBPROTOCOL}, ${TUNNEL_SUBPROTOCOL}` },
  },
  {
    what: "a list of subprotocols that has no end",
    headers: { "sec-websocket-protocol": `${TUNNEL_SUBPROTOCOL},` },
  },
];

function shake(
  hub: TestHub,
  path: string,
  headers: Record<string, string | undefined>,
  method = "GET",
) {
  const lines = Object.entries({
    host: "hub",
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    ...headers,
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return sendBytes(hub.port, [`${method} ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
}

describe.each(Object.entries(sockets))("a handshake for a socket on %s", (_name, socketOf) => {
  test.each(faults)("with $what is refused as every request is", async ({ method, headers }) => {
    await using hub = await startTestHub();
    const socket = await socketOf(hub, await hub.createRoom());
    const answer = await shake(hub, socket.path, { ...socket.headers, ...headers }, method);
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({ code: "bad_request", type: "invalid_request_error" });
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "x-request-id": expect.stringMatching(/^req_/) as string,
      "access-control-allow-origin": "*",
      connection: "close",
    });
  });

  test("without a fault opens a socket", async () => {
    await using hub = await startTestHub();
    const socket = await socketOf(hub, await hub.createRoom());
    expect((await shake(hub, socket.path, socket.headers)).status).toBe(101);
  });
});
