import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { type RawAnswer, sendBytes } from "../support/clients/raw-http.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { within } from "../support/waiting.ts";

/** Every one of these gets a response in our shape, and then the connection is closed or stays open. */
interface Malformed {
  title: string;
  bytes: string | Buffer;
  status: number;
  code: string;
}

const lines = (...all: string[]) => [...all, "", ""].join("\r\n");
const manyHeaders = (count: number) => Array.from({ length: count }, (_, index) => `x-${index}: 1`);
const json = '{"name":"smuggled"}';

const table: Malformed[] = [
  { title: "garbage", bytes: "\u0016\u0003\u0001 hello\r\n\r\n", status: 400, code: "bad_request" },
  {
    title: "random bytes",
    bytes: Buffer.from([0, 255, 254, 13, 10, 13, 10]),
    status: 400,
    code: "bad_request",
  },
  {
    title: "a TLS hello",
    bytes: Buffer.from("16030100c8010000c40303", "hex"),
    status: 400,
    code: "bad_request",
  },
  {
    title: "HTTP/2 prior knowledge",
    bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    status: 400,
    code: "bad_request",
  },
  {
    title: "no Host header",
    bytes: lines("GET /health HTTP/1.1"),
    status: 400,
    code: "bad_request",
  },
  {
    title: "two Host headers",
    bytes: lines("GET /health HTTP/1.1", "host: one", "host: two"),
    status: 400,
    code: "bad_request",
  },
  {
    title: "an absolute target",
    bytes: lines("GET http://other/health HTTP/1.1", "host: hub"),
    status: 400,
    code: "bad_request",
  },
  {
    title: "a header without a colon",
    bytes: lines("GET /health HTTP/1.1", "host: hub", "bad"),
    status: 400,
    code: "bad_request",
  },
  {
    title: "a header name with a space",
    bytes: lines("GET /health HTTP/1.1", "host: hub", "a b: 1"),
    status: 400,
    code: "bad_request",
  },
  {
    title: "two content-lengths",
    bytes:
      lines("POST /rooms HTTP/1.1", "host: hub", "content-length: 1", "content-length: 2") + json,
    status: 400,
    code: "bad_request",
  },
  {
    title: "content-length and chunked",
    bytes:
      lines(
        "POST /rooms HTTP/1.1",
        "host: hub",
        "content-length: 4",
        "transfer-encoding: chunked",
      ) + json,
    status: 400,
    code: "bad_request",
  },
  {
    title: "a broken chunk",
    bytes: `${lines("POST /rooms HTTP/1.1", "host: hub", "transfer-encoding: chunked")}zz\r\n${json}`,
    status: 400,
    code: "bad_request",
  },
  {
    title: "chunked HTTP/1.0",
    bytes: `${lines("POST /rooms HTTP/1.0", "host: hub", "transfer-encoding: chunked")}13\r\n${json}\r\n0\r\n\r\n`,
    status: 400,
    code: "bad_request",
  },
  {
    title: "201 headers",
    bytes: lines("GET /health HTTP/1.1", "host: hub", ...manyHeaders(200)),
    status: 431,
    code: "headers_too_large",
  },
  {
    title: "a header of 20 KB",
    bytes: lines("GET /health HTTP/1.1", "host: hub", `x: ${"y".repeat(20_000)}`),
    status: 431,
    code: "headers_too_large",
  },
  {
    title: "a URL of 9 KB",
    bytes: lines(`GET /health?${"q".repeat(9_000)} HTTP/1.1`, "host: hub"),
    status: 414,
    code: "uri_too_long",
  },
  {
    title: "a management body announced as too large",
    bytes: lines("POST /rooms HTTP/1.1", "host: hub", "content-length: 70000"),
    status: 413,
    code: "request_too_large",
  },
  {
    title: "an encoded body",
    bytes: lines("POST /rooms HTTP/1.1", "host: hub", "content-encoding: br", "content-length: 0"),
    status: 415,
    code: "unsupported_content_encoding",
  },
];

function expectOurShape(
  answer: RawAnswer,
  { status, code }: Pick<Malformed, "status" | "code">,
): void {
  expect({ status: answer.status, code: answer.error?.code }).toEqual({ status, code });
  expect(answer.error).toMatchObject({
    type: "invalid_request_error",
    message: expect.stringMatching(/\S/),
  });
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(answer.headers["access-control-allow-origin"]).toBe("*");
  expect(answer.headers["x-request-id"]).toMatch(/\S/);
}

async function expectAlive(hub: TestHub): Promise<void> {
  expect((await hub.client.health()).status).toBe("ok");
  expect(await hub.client.listRooms()).toEqual([]);
}

describe("on the socket", () => {
  test.for(table)("$title gets $status $code", async ({ bytes, ...expected }) => {
    await using hub = await startTestHub();
    expectOurShape(await sendBytes(hub.port, bytes), expected);
    await expectAlive(hub);
  });

  test("exactly as many headers and as long a URL as allowed are fine", async () => {
    await using hub = await startTestHub();
    const headers = lines("GET /health HTTP/1.1", "host: hub", ...manyHeaders(199));
    expect((await sendBytes(hub.port, headers)).status).toBe(200);
    const url = lines(
      `GET /health?${"q".repeat(8 * 1024 - "/health?".length)} HTTP/1.1`,
      "host: hub",
    );
    expect((await sendBytes(hub.port, url)).status).toBe(200);
  });

  test("a head that does not arrive in time is 408", async () => {
    await using hub = await startTestHub({ limits: { headersReadMs: 200 } });
    const answer = await sendBytes(hub.port, "GET /health HTTP/1.1\r\nhost: hub\r\nx-slow: ");
    expectOurShape(answer, { status: 408, code: "request_read_timeout" });
    await expectAlive(hub);
  });

  test("a body that does not arrive in time is 408", async () => {
    await using hub = await startTestHub({ limits: { bodyIdleMs: 100 } });
    const code = await hub.createRoom();
    for (const path of ["/rooms", `/rooms/${code}/v1/chat/completions`]) {
      const head = lines(`POST ${path} HTTP/1.1`, "host: hub", "content-length: 100");
      const answer = await sendBytes(hub.port, `${head}{"name"`);
      expectOurShape(answer, { status: 408, code: "request_read_timeout" });
      expect(answer.headers["connection"]).toBe("close");
    }
  });

  test("a body over the limit is 413, announced and chunked, also when all of it is sent", async () => {
    await using hub = await startTestHub({ limits: { inferenceBodyBytes: 100_000 } });
    const code = await hub.createRoom();
    const tooMuch = Buffer.alloc(2 ** 20, "x");
    for (const path of [
      "/rooms",
      `/rooms/${code}/v1/responses`,
      `/v1/rooms/${code}/chat/completions`,
    ]) {
      const announced = lines(
        `POST ${path} HTTP/1.1`,
        "host: hub",
        `content-length: ${tooMuch.length}`,
      );
      const chunked = lines(`POST ${path} HTTP/1.1`, "host: hub", "transfer-encoding: chunked");
      for (const bytes of [
        Buffer.concat([Buffer.from(announced), tooMuch]),
        Buffer.concat([Buffer.from(`${chunked}100000\r\n{"model":"`), tooMuch]),
      ]) {
        expectOurShape(await sendBytes(hub.port, bytes), {
          status: 413,
          code: "request_too_large",
        });
      }
    }
  });

  test("clients that disconnect at any point leave no state in the hub", async () => {
    await using provider = await startFakeProvider({ behave: () => ({ kind: "hang-mid-stream" }) });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await joinDirect(hub, code, { endpoint: provider.url });
    const body = JSON.stringify({ model: "*", stream: true, messages: userSays("hello there") });
    const request =
      lines(
        `POST /rooms/${code}/v1/chat/completions HTTP/1.1`,
        "host: hub",
        `content-length: ${body.length}`,
      ) + body;
    for (let length = 1; length <= request.length; length += 7) {
      await new Promise<void>((resolve) => {
        const socket = connect({ host: "127.0.0.1", port: hub.port }, () => {
          socket.write(request.slice(0, length), () => socket.resetAndDestroy());
        });
        socket.on("error", () => undefined).on("close", () => resolve());
      });
    }
    const answer = await sendBytes(hub.port, request);
    expect(answer.status).toBe(200);
    await provider.waitFor(({ openGenerations }) => openGenerations === 0);
    expect((await hub.client.health()).status).toBe("ok");
    expect(await hub.client.listParticipants(code)).toHaveLength(1);
  });

  test("pipelined requests get their responses in order", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const answer = await sendBytes(
      hub.port,
      lines("GET /health HTTP/1.1", "host: hub") +
        lines(`GET /rooms/${code} HTTP/1.1`, "host: hub"),
    );
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('"status":"ok"');
  });
});

test("a refused handshake leaves nothing open, however long its client keeps its own side", async () => {
  await using hub = await startTestHub();
  const socket = connect({ port: hub.port, host: "127.0.0.1", allowHalfOpen: true });
  const handshake = ["connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13"];
  socket.write(lines("GET /rooms/ABC234/v1/responses HTTP/1.1", "host: hub", ...handshake));
  socket.resume();
  await once(socket, "end");
  const broken = Promise.withResolvers<NodeJS.ErrnoException>();
  socket.on("error", broken.resolve);
  // The connection is closed: the first bytes cause a reset, the next ones fail.
  const writing = setInterval(() => socket.write("x"), 5);
  const { code } = await within(broken.promise, "the connection to be closed");
  clearInterval(writing);
  expect(["ECONNRESET", "EPIPE"]).toContain(code);
});
