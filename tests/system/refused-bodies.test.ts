import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { hasNginx, startNginxProxy } from "../support/programs/nginx.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until, within } from "../support/waiting.ts";

const lines = (...all: string[]) => [...all, "", ""].join("\r\n");
/** More than the sockets on the path hold, and less than nginx itself refuses. */
const body = Buffer.alloc(900_000, "x");
/** Refused by length, room and path, before the body has arrived. */
const refusals = {
  "/rooms": "413 request_too_large",
  "/rooms/ABC234/v1/chat/completions": "404 room_not_found",
  "/v1/nowhere": "404 not_found",
};

/** @returns status and code of the response, or how the connection ended */
function post(url: string): Promise<string> {
  return new Promise((resolve) => {
    const sending = request(url, { method: "POST", agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => (text += part));
      response.on("error", (error) => resolve(error.message));
      response.on("end", () => {
        resolve(`${response.statusCode} ${/"code":"(\w+)"/.exec(text)?.[1]}`);
      });
    });
    sending.on("error", (error) => resolve(error.message));
    sending.end(body);
  });
}

describe("the response to a refused body arrives, 60 times of 60, through nginx", () => {
  const http11 = "proxy_http_version 1.1;";
  const ways = [
    { way: "with default settings" },
    { way: "with Connection: close", location: `${http11} proxy_set_header Connection close;` },
    { way: "with no Connection header", location: `${http11} proxy_set_header Connection '';` },
    {
      way: "with keep-alive upstreams",
      location: `${http11} proxy_set_header Connection '';`,
      upstream: "keepalive 8;",
    },
  ];
  test.for(ways)("$way", async ({ location, upstream }, { skip }) => {
    if (!hasNginx) return skip("nginx is not installed here");
    await using stack = new AsyncDisposableStack();
    const hub = stack.use(await startTestHub());
    const url = await startNginxProxy(hub.url, stack, location, upstream);
    const seen: Record<string, number> = {};
    for (let count = 0; count < 20; count++) {
      for (const path of Object.keys(refusals)) {
        const outcome = await post(url + path);
        seen[outcome] = (seen[outcome] ?? 0) + 1;
      }
    }
    expect(seen).toEqual(Object.fromEntries(Object.values(refusals).map((each) => [each, 20])));
  });
});

/** A client that has sent the head of a request, has read the response, and keeps sending. */
async function sendHead(hub: TestHub, head: string) {
  const socket = connect({ host: "127.0.0.1", port: hub.port, allowHalfOpen: true });
  let text = "";
  let failure: string | undefined;
  socket.on("error", ({ code }: NodeJS.ErrnoException) => (failure = code));
  socket.setEncoding("latin1").on("data", (part) => (text += part.toString()));
  socket.write(head);
  await within(once(socket, "end"), "the hub to end its side");
  return {
    text,
    /** @returns why it was not accepted: bytes that reach a closed connection cause a reset */
    async send(bytes: string | Buffer) {
      if (failure === undefined) await new Promise((resolve) => socket.write(bytes, resolve));
      await hub.client.health();
      return failure;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

describe("a connection that ends with a refusal", () => {
  const length = `content-length: ${body.length}`;
  const heads = {
    "by Connection: close": lines("POST /rooms HTTP/1.1", "host: hub", "connection: close", length),
    "by HTTP/1.0": lines("POST /rooms HTTP/1.0", length),
  };
  test.for(Object.entries(heads))(
    "receives until the body is complete and is closed then, %s",
    async ([, head]) => {
      await using hub = await startTestHub();
      using client = await sendHead(hub, head);
      expect(client.text).toMatch(/^HTTP\/1\.1 413 .*"code":"request_too_large"/s);
      for (let sent = 0; sent < body.length; sent += 100_000) {
        expect(await client.send(body.subarray(sent, sent + 100_000))).toBeUndefined();
      }
      const failure = await until("the reset", () => client.send("x"), Boolean);
      expect(["ECONNRESET", "EPIPE"]).toContain(failure);
    },
  );

  test("discards what follows a request that could not be parsed, and responds once", async () => {
    await using hub = await startTestHub();
    using client = await sendHead(hub, lines("POST /rooms HTTP/1.1", "host: hub", "no colon"));
    expect(client.text).toMatch(/^HTTP\/1\.1 400 .*"code":"bad_request"/s);
    for (let count = 0; count < 3; count++) expect(await client.send(body)).toBeUndefined();
    expect(client.text.match(/^HTTP\/1\.1/gm)).toHaveLength(1);
  });

  test("does nothing for a request that comes after it", async () => {
    await using hub = await startTestHub({ limits: { bodyIdleMs: 100 } });
    const head = lines("POST /rooms HTTP/1.1", "host: hub", "content-length: 15");
    using client = await sendHead(hub, head);
    expect(client.text).toMatch(/^HTTP\/1\.1 408 /);
    await client.send(`{"name":"late"}${head}{"name":"next"}`);
    expect(await hub.client.listRooms()).toEqual([]);
  });
});
