import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type RequestListener,
} from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, test } from "vitest";
import { doorKey, startDoor } from "../support/hub/start-door.ts";
import { until, within } from "../support/waiting.ts";

const authorization = `Bearer ${doorKey}`;

/** A door to a server that does as the test says, in the place of a hub. */
async function startAt(listener: RequestListener, prefix = "") {
  await using stack = new AsyncDisposableStack();
  const server = createServer(listener);
  server.on("checkContinue", listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const hubUrl = `http://127.0.0.1:${port}${prefix}`;
  const door = stack.use(await startDoor(hubUrl, "ABC234", { hubKey: "rhk_room" }));
  const owned = stack.move();
  return {
    ...{ door, hubPort: port, url: `${door.url}/things` },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

test("a request has the room's path and key at the hub, and else what its client sent", async () => {
  const got: { url: string | undefined; headers: string[]; body: string }[] = [];
  await using room = await startAt((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      got.push({ url: request.url, headers: request.rawHeaders, body });
      response.end();
    });
  }, "/behind/a/proxy");
  const request = httpRequest(`${room.url}?a=1&b=%2F`, {
    ...{ method: "PUT", agent: false },
    headers: [
      ...[
        "Host",
        "localhost",
        "X-Twice",
        "1",
        "x-twice",
        "2",
        "API-Key",
        doorKey,
        "TE",
        "trailers",
      ],
      ...["Connection", "close, X-Own", "X-Own", "1", "Cookie", "a=b", "Content-Length", "3"],
    ],
  });
  request.end("abc");
  await once(request, "response");
  const host = `127.0.0.1:${room.hubPort}`;
  expect(got).toEqual([
    {
      url: "/behind/a/proxy/rooms/ABC234/v1/things?a=1&b=%2F",
      headers: [
        ...["Host", host, "Authorization", "Bearer rhk_room", "X-Twice", "1", "x-twice", "2"],
        ...["Content-Length", "3", "Connection", "keep-alive"],
      ],
      body: "abc",
    },
  ]);
});

test("a client that expects 100 Continue gets it from the hub, or the hub's refusal", async () => {
  let isWelcome = true;
  await using room = await startAt((request, response) => {
    if (!isWelcome) return void response.writeHead(413).end("no");
    response.writeContinue();
    request.pipe(response);
  });
  const send = () =>
    httpRequest(room.url, {
      ...{ method: "POST", agent: false },
      headers: { authorization, expect: "100-continue", "content-length": 4 },
    });
  const welcome = send();
  welcome.flushHeaders();
  await within(once(welcome, "continue"), "100 Continue");
  welcome.end("body");
  const [echo] = (await once(welcome, "response")) as [AsyncIterable<Buffer>];
  expect(await textOf(echo)).toBe("body");
  isWelcome = false;
  const refused = send();
  refused.on("error", () => undefined).flushHeaders();
  const [answer] = (await once(refused, "response")) as [{ statusCode: number }];
  expect(answer.statusCode).toBe(413);
});

test("a response to HEAD has the length of the body that it has not", async () => {
  await using room = await startAt((_request, response) => {
    response.writeHead(200, { "content-length": 1_000 }).end();
  });
  for (let time = 0; time < 2; time++) {
    const response = await fetch(room.url, { method: "HEAD", headers: { authorization } });
    expect(response.headers.get("content-length")).toBe("1000");
  }
});

test("trailers pass both ways, but for those that concern a connection or hubs alone", async () => {
  const got: unknown[] = [];
  await using room = await startAt((request, response) => {
    request.resume().on("end", () => {
      got.push(request.rawTrailers);
      response.writeHead(200, { trailer: "X-Sum" });
      response.write("part");
      response.addTrailers({ "X-Sum": "12ab", "x-roomhub-peer": "1", "keep-alive": "9" });
      response.end();
    });
  });
  const request = httpRequest(room.url, {
    ...{ method: "POST", agent: false },
    headers: { authorization, trailer: "X-Check" },
  });
  request.write("body");
  request.addTrailers({ "X-Check": "ok", "x-roomhub-peer": "1" });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(await textOf(response)).toBe("part");
  expect([got, response.rawTrailers]).toEqual([[["X-Check", "ok"]], ["X-Sum", "12ab"]]);
});

test.each([
  ["HEAD", "transfer-encoding: chunked"],
  ["GET", "content-length: 0"],
])("trailers that are announced and cannot come end no door: %s", async (method, framing) => {
  await using room = await startAt((_request, response) => {
    response.socket?.end(`HTTP/1.1 200 OK\r\ntrailer: x-sum\r\n${framing}\r\n\r\n`);
  });
  const response = await fetch(room.url, { method, headers: { authorization } });
  expect([response.status, await response.text()]).toEqual([200, ""]);
});

test.each([
  ["of a known length", { "content-length": "10" }],
  ["in chunks", {}],
])("a response %s that breaks off breaks off at the client", async (_what, headers) => {
  await using room = await startAt((_request, response) => {
    response.writeHead(200, headers);
    response.write("half", () => response.socket?.destroy());
  });
  const response = await fetch(room.url, { headers: { authorization } });
  await expect(response.text()).rejects.toThrow("terminated");
});

test("a hub that closes the connection without a response is a 502", async () => {
  await using room = await startAt((request) => request.socket.destroy());
  const response = await fetch(room.url, { headers: { authorization } });
  expect([response.status, await response.json()]).toMatchObject([
    ...[502, { error: { code: "hub_disconnected" } }],
  ]);
});

test("the hub waits for a client that reads slowly, and gets its bytes through whole", async () => {
  const bytes = Buffer.alloc(64 * 1024, 7);
  const total = 1_024;
  let written = 0;
  let isHeld = false;
  await using room = await startAt((_request, response) => {
    const write = (): void => {
      while (written < total) {
        written++;
        if (!response.write(bytes)) {
          isHeld = true;
          return void response.once("drain", write);
        }
      }
      response.end();
    };
    write();
  });
  const request = httpRequest(room.url, { agent: false, headers: { authorization } }).end();
  const [response] = (await once(request, "response")) as [AsyncIterable<Buffer>];
  await until(
    "that it waits",
    () => written,
    () => isHeld,
  );
  // What two pairs of sockets and their buffers hold, at the most.
  expect(written).toBeLessThan(total / 2);
  let received = 0;
  for await (const chunk of response) received += chunk.length;
  expect(received).toBe(total * bytes.length);
});

test("a client waits for a hub that reads slowly", async () => {
  let resume = (): void => undefined;
  let received = 0;
  await using room = await startAt((request, response) => {
    resume = () => {
      request.on("data", (chunk: Buffer) => (received += chunk.length));
      request.on("end", () => response.end());
    };
  });
  const request = httpRequest(room.url, {
    ...{ method: "POST", agent: false, headers: { authorization } },
  });
  const bytes = Buffer.alloc(64 * 1024);
  let sent = 0;
  while (sent < 1_024 && request.writableLength < 8 * bytes.length) {
    request.write(bytes);
    sent++;
    await new Promise(setImmediate);
  }
  expect(sent).toBeLessThan(1_024);
  request.end();
  resume();
  await once(request, "response");
  expect(received).toBe(sent * bytes.length);
});

test("a request whose client leaves is cut at the hub, also before its response", async () => {
  let closed = 0;
  let arrived = 0;
  await using room = await startAt((request) => {
    arrived++;
    request.on("close", () => closed++);
  });
  const request = httpRequest(room.url, { agent: false, headers: { authorization } });
  request.on("error", () => undefined).end();
  await until(
    "its arrival",
    () => arrived,
    (count) => count === 1,
  );
  request.destroy();
  await until(
    "its end",
    () => closed,
    (count) => count === 1,
  );
  expect(room.door.requests[0]).toMatchObject({ status: undefined, problem: "the client left" });
});

test("a door that closes takes nothing new and waits for what runs", async () => {
  let finish = (): void => undefined;
  await using room = await startAt((_request, response) => {
    response.write("begun");
    finish = () => void response.end();
  });
  const response = await fetch(room.url, { headers: { authorization } });
  expect(room.door.running()).toBe(1);
  const drained = room.door.drain();
  const refused = connect(Number(new URL(room.url).port), "127.0.0.1");
  await expect(once(refused, "connect")).rejects.toThrow("ECONNREFUSED");
  finish();
  await drained;
  expect(await response.text()).toBe("begun");
});

async function textOf(parts: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const part of parts) text += part.toString();
  return text;
}
