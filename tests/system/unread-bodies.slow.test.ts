import { describe, expect, test } from "vitest";
import { openConversation } from "../support/clients/raw-conversation.ts";
import { sendBytes } from "../support/clients/raw-http.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";

const lines = (...all: string[]) => [...all, "", ""].join("\r\n");

const targets = [
  "GET /health",
  "HEAD /health",
  "OPTIONS /rooms",
  "GET /v1/events",
  "GET /openapi.json",
  "DELETE /rooms/CODE/leave/ada",
  "POST /v1/rooms/CODE/participants/ada/heartbeat",
  "POST /rooms/CODE/v1/responses/resp_1/cancel",
] as const;

function headOf(target: string, code: string, ...headers: string[]): string {
  return lines(`${target.replace("CODE", code)} HTTP/1.1`, "host: hub", ...headers);
}

describe.for(targets)("the body of %s, which is not read,", (target) => {
  test("is 408 when it stops coming, and the connection is closed", async () => {
    await using hub = await startTestHub({ limits: { bodyIdleMs: 100 } });
    const code = await hub.createRoom();
    for (const [framing, begun] of [
      ["content-length: 100", "begun"],
      ["transfer-encoding: chunked", "5\r\nbegun\r\n"],
    ] as const) {
      const client = openConversation(hub.port);
      client.say(headOf(target, code, framing) + begun);
      const { rest, answers } = await client.ended;
      const text = `${JSON.stringify(answers)}${rest}`;
      expect(text).toMatch(/408/);
      expect(text).toMatch(/"?connection"?: ?"?close/i);
    }
  });

  test("is 408 when it takes too long in all", async () => {
    await using hub = await startTestHub({ limits: { bodyReadMs: 200 } });
    const code = await hub.createRoom();
    const client = openConversation(hub.port);
    client.say(headOf(target, code, "content-length: 1000"));
    const dripping = setInterval(() => client.say("x"), 20);
    const { rest, answers } = await client.ended.finally(() => clearInterval(dripping));
    expect(`${JSON.stringify(answers)}${rest}`).toMatch(/408/);
  });

  test("is 413 when it is too large", async () => {
    await using hub = await startTestHub({ limits: { managementBodyBytes: 1_000 } });
    const code = await hub.createRoom();
    const client = openConversation(hub.port);
    client.say(headOf(target, code, "connection: close", "content-length: 1001"));
    client.say("x".repeat(1001));
    const { rest, answers } = await client.ended;
    expect(`${JSON.stringify(answers)}${rest}`).toMatch(/413/);
  });
});

test("a body that is not read delays its response until it is complete, and changes nothing", async () => {
  await using hub = await startTestHub();
  let heard = 0;
  const client = openConversation(hub.port, () => heard++);
  client.say(headOf("GET /health", "", "content-length: 4", "connection: close") + "tex");
  await hub.client.health();
  expect(heard).toBe(0);
  client.say("t");
  const { answers } = await client.ended;
  expect(answers.map(({ status }) => status)).toEqual([200]);
});

describe("Expect: 100-continue", () => {
  const expecting = (hub: TestHub, path: string, ...headers: string[]) =>
    sendBytes(
      hub.port,
      lines(`POST ${path} HTTP/1.1`, "host: hub", "expect: 100-continue", ...headers),
    );

  test.for([
    ["an unknown path", "/nowhere", 404, "content-length: 10"],
    ["an unknown room", "/rooms/ABC234/v1/chat/completions", 404, "content-length: 10"],
    ["a body announced as too large", "/rooms", 413, "content-length: 70000"],
    ["a content encoding", "/rooms", 415, "content-length: 10", "content-encoding: gzip"],
    ["a path that needs another method", "/health", 405, "content-length: 10"],
  ] as const)("gets the refusal of %s, and no 100", async ([_what, path, status, ...headers]) => {
    await using hub = await startTestHub();
    const answer = await expecting(hub, path, ...headers);
    expect(answer.status).toBe(status);
    // Whether the body follows is not known, so nothing can follow it.
    expect(answer.headers["connection"]).toBe("close");
  });

  test("gets 100 where the body is read, and then the response", async () => {
    await using hub = await startTestHub();
    const client = openConversation(hub.port, ({ answers }) => {
      if (answers.length === 1 && answers[0]?.status === 100) client.say(`{"name":"lab"}`);
    });
    client.say(
      lines(
        "POST /rooms HTTP/1.1",
        "host: hub",
        "connection: close",
        "content-length: 14",
        "expect: 100-Continue",
      ),
    );
    const { answers } = await client.ended;
    expect(answers.map(({ status }) => status)).toEqual([100, 201]);
  });

  test("gets no 100 in HTTP/1.0, which has none", async () => {
    await using hub = await startTestHub();
    const head = lines("POST /rooms HTTP/1.0", "content-length: 14", "expect: 100-continue");
    expect((await sendBytes(hub.port, `${head}{"name":"lab"}`)).status).toBe(201);
  });
});
