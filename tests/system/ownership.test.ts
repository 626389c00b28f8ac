import { TUNNEL_SUBPROTOCOL } from "@roomhub/tunnel";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { sendBytes } from "../support/clients/raw-http.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { within } from "../support/waiting.ts";

const tokenPattern = /^rhp_[\w-]{43}$/;
const endpoint = "http://127.0.0.1:9/v1";
const registration = { id: "ada", nickname: "Ada", model: "m", endpoint };

test("a second join from the same address takes the id over, with a new token, and the old tunnel closes 4001", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const events = await hub.watch(code);
  await using first = await joinTunnel(hub, code, { endpoint: provider.url });
  await events.next("participant.updated");
  const again = await hub.fetch(`/rooms/${code}/join`, { json: registration });
  expect(again.status).toBe(200);
  expect(await again.json()).toMatchObject({
    participantToken: expect.stringMatching(tokenPattern),
  });
  expect(await within(first.agent.stopped, "the first agent to stop")).toMatchObject({
    code: "replaced",
  });
  expect(events.of("participant.joined")).toHaveLength(1);
});

test("the old tunnel's close code is 4001", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const { answer } = await joinDirect(hub, code, { endpoint });
  const socket = new WebSocket(answer.tunnel.url, TUNNEL_SUBPROTOCOL, {
    headers: { authorization: `Bearer ${answer.participantToken}` },
  });
  await within(new Promise((resolve) => socket.on("open", resolve)), "the tunnel");
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  await joinDirect(hub, code, { endpoint });
  expect(await within(closed, "the old tunnel's end")).toBe(4001);
});

test("a join with the token keeps the token", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const { answer } = await joinDirect(hub, code, { endpoint });
  const token = answer.participantToken ?? "";
  expect(token).toMatch(tokenPattern);
  const again = await hub.client.join(code, registration, { token });
  expect(again.participantToken).toBeUndefined();
  expect((await hub.client.heartbeat(code, "ada", { token })).success).toBe(true);
});

describe("a wrong token", () => {
  const wrong = { "x-participant-token": `rhp_${"A".repeat(43)}` };
  const attempts: [string, (code: string) => [string, RequestInit & { json?: unknown }]][] = [
    ["joining", (code) => [`/rooms/${code}/join`, { json: registration }]],
    [
      "changing",
      (code) => [
        `/v1/rooms/${code}/participants/ada`,
        { method: "PUT", json: { nickname: "Eve" } },
      ],
    ],
    ["leaving", (code) => [`/rooms/${code}/leave/ada`, { method: "DELETE" }]],
    ["leaving", (code) => [`/v1/rooms/${code}/participants/ada`, { method: "DELETE" }]],
    ["beating", (code) => [`/rooms/${code}/health`, { json: { id: "ada" } }]],
  ];

  test.for(attempts)("is refused at %s, even from the right address", async ([, attempt]) => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await joinDirect(hub, code, { endpoint });
    const [path, init] = attempt(code);
    const answer = await hub.fetch(path, { ...init, headers: wrong });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({
      error: { code: "participant_token_invalid", type: "permission_error" },
    });
    expect((await hub.client.getParticipant(code, "ada")).nickname).toBe("Ada");
  });

  test("is an API key when it does not have our prefix", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await joinDirect(hub, code, { endpoint });
    const answer = await hub.fetch(`/rooms/${code}/leave/ada`, {
      method: "DELETE",
      headers: { authorization: "Bearer sk-whatever" },
    });
    expect(answer.status).toBe(200);
  });
});

describe("without address rights", () => {
  const forwarded = { "x-forwarded-for": "10.1.2.3" };

  test.for([
    ["join", "participant_id_taken", 409],
    ["change", "participant_token_required", 403],
    ["leave", "participant_token_required", 403],
  ] as const)("to %s another client's id is %s", async ([what, errorCode, status]) => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const { answer: joined } = await joinDirect(hub, code, { endpoint });
    const path = `/v1/rooms/${code}/participants/ada`;
    const attempt = (headers: Record<string, string>) => {
      if (what === "join") return hub.fetch(`/rooms/${code}/join`, { json: registration, headers });
      if (what === "leave") return hub.fetch(path, { method: "DELETE", headers });
      return hub.fetch(path, { method: "PUT", json: { nickname: "Eve" }, headers });
    };
    const answer = await attempt(forwarded);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code: errorCode } });
    const proven = await attempt({
      ...forwarded,
      "x-participant-token": joined.participantToken ?? "",
    });
    expect(proven.status).toBe(200);
  });

  test("strict ownership requires the token for every change, and none for a heartbeat", async () => {
    await using hub = await startTestHub({ ownership: "strict" });
    const code = await hub.createRoom();
    const { answer } = await joinDirect(hub, code, { endpoint });
    expect((await hub.client.heartbeat(code, "ada")).success).toBe(true);
    await expect(hub.client.leave(code, "ada")).rejects.toMatchObject({ status: 403 });
    await expect(joinDirect(hub, code, { endpoint })).rejects.toMatchObject({ status: 409 });
    const token = answer.participantToken;
    await hub.client.leave(code, "ada", { token });
  });

  test("at an address that many clients have needs the token, and a private endpoint is not dialled", async () => {
    await using hub = await startTestHub({ sharedAddresses: ["127.0.0.1"] });
    const code = await hub.createRoom();
    const { answer } = await joinDirect(hub, code, { endpoint });
    expect(answer.warnings?.map((warning) => warning.code)).toEqual(["endpoint_not_dialled"]);
    expect(answer.participant.connection.path).toBe("none");
    await expect(joinDirect(hub, code, { endpoint })).rejects.toMatchObject({ status: 409 });
    await expect(hub.client.leave(code, "ada")).rejects.toMatchObject({ status: 403 });
    expect((await hub.client.heartbeat(code, "ada")).success).toBe(true);
    await hub.client.leave(code, "ada", { token: answer.participantToken });
  });

  test("open ownership requires nothing", async () => {
    await using hub = await startTestHub({ ownership: "open" });
    const code = await hub.createRoom();
    await joinDirect(hub, code, { endpoint });
    const answer = await hub.fetch(`/rooms/${code}/leave/ada`, {
      method: "DELETE",
      headers: forwarded,
    });
    expect(answer.status).toBe(200);
  });
});

describe("a tunnel", () => {
  function dial(hub: TestHub, path: string, headers: Record<string, string>) {
    const lines = Object.entries({
      host: "hub",
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-protocol": TUNNEL_SUBPROTOCOL,
      ...headers,
    }).map(([name, value]) => `${name}: ${value}`);
    return sendBytes(hub.port, [`GET ${path} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
  }

  test("opens with the token and with nothing else", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const { answer } = await joinDirect(hub, code, { endpoint });
    const path = `/v1/rooms/${code}/participants/ada/tunnel`;
    const authorization = `Bearer ${answer.participantToken}`;
    const attempts: [Record<string, string>, number, string | undefined][] = [
      [{}, 403, "participant_token_required"],
      [{ authorization: "Bearer sk-whatever" }, 403, "participant_token_required"],
      [{ authorization: `Bearer rhp_${"A".repeat(43)}` }, 403, "participant_token_invalid"],
      [{ authorization, origin: "https://evil.example" }, 403, "origin_not_allowed"],
      [{ authorization }, 101, undefined],
      [{ "x-participant-token": answer.participantToken ?? "" }, 101, undefined],
    ];
    for (const [headers, status, errorCode] of attempts) {
      const dialled = await dial(hub, path, headers);
      expect({ status: dialled.status, code: dialled.error?.code }).toEqual({
        status,
        code: errorCode,
      });
    }
  });

  test("of an unknown participant, or of an unknown room, is 404", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const nobody = await dial(hub, `/v1/rooms/${code}/participants/nobody/tunnel`, {});
    expect([nobody.status, nobody.error?.code]).toEqual([404, "participant_not_found"]);
    const nowhere = await dial(hub, "/v1/rooms/ZZZZZZ/participants/ada/tunnel", {});
    expect([nowhere.status, nowhere.error?.code]).toEqual([404, "room_not_found"]);
  });

  test("requested without an upgrade is 426", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const answer = await hub.fetch(`/v1/rooms/${code}/participants/ada/tunnel`);
    expect(answer.status).toBe(426);
    expect(answer.headers.get("upgrade")).toBe("websocket");
    expect(await answer.json()).toMatchObject({ error: { code: "upgrade_required" } });
  });
});
