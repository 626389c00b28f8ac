import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as requestHttp,
  type RequestListener,
  type Server,
} from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { HopAcceptor } from "./accept.ts";
import { HopDialler } from "./dial.ts";
import { HOME_ELSEWHERE, PEER_HEADER } from "./heads.ts";
import { type OpenRequest, Hops } from "./hops.ts";
import type { PipeOutcome } from "./pipe.ts";

const secret = Buffer.alloc(32, "cluster");
const ada = { hubId: "00000000000000aa", bootId: "000000a1" };
const wallMs = () => 1_000_000;

const notHome = { [PEER_HEADER]: HOME_ELSEWHERE };

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A home that serves hops by `listener`. */
async function startHome(stack: AsyncDisposableStack, hubId: string, listener: RequestListener) {
  const self = { hubId, bootId: "000000b1" };
  const served = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, listener);
  served.on("checkContinue", listener);
  const sockets = new Set<Socket>();
  const acceptor = new HopAcceptor({
    ...{ self, secret, wallMs },
    onSocket: (socket) => {
      sockets.add(socket as Socket);
      socket.on("close", () => sockets.delete(socket as Socket));
      served.emit("connection", socket);
    },
  });
  const front = createServer();
  front.on("upgrade", (request, socket, head) => acceptor.accept(request, socket, head));
  const port = await listening(front);
  stack.defer(() => {
    for (const socket of sockets) socket.destroy();
    front.closeAllConnections();
    front.close();
  });
  return { ...self, linkUrl: `http://127.0.0.1:${port}`, sockets };
}

type Home = Awaited<ReturnType<typeof startHome>>;

/** A hub that pipes every request to these, one after the other, until one takes it. */
async function startEntry(stack: AsyncDisposableStack, ...homes: Home[]) {
  const outcomes: PipeOutcome["kind"][] = [];
  const refused: string[] = [];
  const hops = new Hops({
    dialler: new HopDialler({ self: ada, secret, wallMs }),
    targetOf: (hubId) => homes.find((home) => home.hubId === hubId),
    onRefused: (hubId) => refused.push(hubId),
  });
  const server = createServer();
  const pipe = async (opened: OpenRequest, response: Parameters<RequestListener>[1]) => {
    for (const home of homes) {
      const { kind } = await opened.send(home, '{"requestId":"req_1"}');
      outcomes.push(kind);
      if (kind === "broken" && !response.headersSent) response.writeHead(502).end();
      else if (kind === "broken") response.destroy();
      if (kind !== "untaken") return;
      if (!opened.canBeSent) break;
    }
    response.writeHead(503).end();
  };
  const serve: RequestListener = (request, response) =>
    void pipe(hops.open(request, response), response);
  server.on("request", serve);
  server.on("checkContinue", serve);
  const port = await listening(server);
  stack.defer(() => {
    hops.close();
    server.closeAllConnections();
    server.close();
  });
  return { port, outcomes, refused };
}

/** What a home got of each request, and `ok` as its response. */
function recording() {
  const got: { headers: string[]; url: string; body: string }[] = [];
  const listener: RequestListener = (request, response) => {
    void text(request).then((body) => {
      got.push({ headers: request.rawHeaders, url: request.url ?? "", body });
      response.end("ok");
    });
  };
  return { got, listener };
}

/** @returns everything that came until the connection was closed */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(bytes);
  return text(socket);
}

describe("a request that is piped", () => {
  test("comes with its method, path, headers and body, and what the hub says of its client", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const entry = await startEntry(stack, await startHome(stack, "00000000000000bb", listener));
    const response = await raw(
      entry.port,
      "POST /a?b=%20c HTTP/1.1\r\nHost: hub.example\r\nX-Test: 1\r\nX-ROOMHUB-PEER: forged\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
    );
    expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*ok/);
    expect(got).toHaveLength(1);
    const [{ headers, url, body } = { headers: [], url: "", body: "" }] = got;
    expect([url, body]).toEqual(["/a?b=%20c", "abc"]);
    expect(headers).toEqual([
      ...["Host", "hub.example", "X-Test", "1", "Content-Length", "3"],
      ...["x-roomhub-peer", '{"requestId":"req_1"}', "Connection", "keep-alive"],
    ]);
    expect(entry.outcomes).toEqual(["delivered"]);
  });

  test("uses a connection again, and never one that serves another request", async () => {
    await using stack = new AsyncDisposableStack();
    const waiting: (() => void)[] = [];
    const home = await startHome(stack, "00000000000000bb", (_request, response) => {
      waiting.push(() => response.end("ok"));
    });
    const entry = await startEntry(stack, home);
    const ask = () => fetch(`http://127.0.0.1:${entry.port}/`).then((answer) => answer.text());
    const both = [ask(), ask()];
    await expect.poll(() => waiting.length).toBe(2);
    expect(home.sockets.size).toBe(2);
    for (const end of waiting.splice(0)) end();
    expect(await Promise.all(both)).toEqual(["ok", "ok"]);
    const third = ask();
    await expect.poll(() => waiting.length).toBe(1);
    waiting[0]?.();
    expect(await third).toBe("ok");
    expect(home.sockets.size).toBe(2);
  });

  test("is one request at the home, whatever its framing says at the hub", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const entry = await startEntry(stack, await startHome(stack, "00000000000000bb", listener));
    const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    const heads = [
      `POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n${smuggled}`,
      `POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabc${smuggled}`,
      `POST /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\nConnection: close\r\n\r\n${smuggled}`,
      `POST /4 HTTP/1.1\r\nHost: h\r\nConnection: content-length, close\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    ];
    for (const head of heads) await raw(entry.port, head);
    expect(got.map(({ url }) => url).filter((url) => url === "/smuggled")).toEqual([]);
    expect(got.find(({ url }) => url === "/4")?.body).toBe(smuggled);
  });

  test("with a long body stands still while the home does not read, and comes whole", async () => {
    await using stack = new AsyncDisposableStack();
    const arrived = Promise.withResolvers<IncomingMessage>();
    const home = await startHome(stack, "00000000000000bb", (request, response) => {
      arrived.resolve(request);
      request.on("end", () => response.end("ok"));
    });
    const entry = await startEntry(stack, home);
    const bytes = 64 * 1024 * 1024;
    const client = requestHttp({
      port: entry.port,
      method: "POST",
      headers: { "content-length": bytes },
    });
    const responded = once(client, "response") as Promise<[IncomingMessage]>;
    let sent = 0;
    const chunk = Buffer.alloc(1024 * 1024);
    while (sent < bytes && client.write(chunk)) sent += chunk.length;
    const request = await arrived.promise;
    const rest = (async () => {
      while ((sent += chunk.length) < bytes) {
        if (!client.write(chunk)) await once(client, "drain");
      }
      client.end();
    })();
    let received = 0;
    request.on("data", (part: Buffer) => (received += part.length));
    await rest;
    const [response] = await responded;
    expect(await text(response)).toBe("ok");
    expect(received).toBe(bytes);
  });

  test("ends at the home when its client leaves", async () => {
    await using stack = new AsyncDisposableStack();
    const arrived = Promise.withResolvers<IncomingMessage>();
    const home = await startHome(stack, "00000000000000bb", (request) => arrived.resolve(request));
    const entry = await startEntry(stack, home);
    const client = requestHttp({ port: entry.port });
    client.on("error", () => {});
    client.end();
    const request = await arrived.promise;
    const closed = once(request.socket, "close");
    client.destroy();
    await closed;
    expect(entry.outcomes).toEqual(["gone"]);
  });
});

describe("a hub that is not the home", () => {
  test("says so in a header, and the request goes to the next with every byte of its body", async () => {
    await using stack = new AsyncDisposableStack();
    const no = await startHome(stack, "00000000000000bb", (request, response) => {
      request.resume();
      request.on("end", () => response.writeHead(421, notHome).end("no"));
    });
    const { got, listener } = recording();
    const yes = await startHome(stack, "00000000000000cc", listener);
    const entry = await startEntry(stack, no, yes);
    const body = "x".repeat(60_000);
    const url = `http://127.0.0.1:${entry.port}/`;
    expect(await (await fetch(url, { method: "POST", body })).text()).toBe("ok");
    expect(got[0]?.body).toBe(body);
    expect(entry.outcomes).toEqual(["untaken", "delivered"]);
  });

  test("and is cut while it says so leaves the request to the next", async () => {
    await using stack = new AsyncDisposableStack();
    const no = await startHome(stack, "00000000000000bb", ({ socket }, response) => {
      response.writeHead(421, { ...notHome, "content-length": 10 });
      response.write("n", () => socket.destroy());
    });
    const entry = await startEntry(
      stack,
      no,
      await startHome(stack, "00000000000000cc", recording().listener),
    );
    expect(await (await fetch(`http://127.0.0.1:${entry.port}/`)).text()).toBe("ok");
  });

  test("may pass on the 421 of a model server, which is a response", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const yes = await startHome(stack, "00000000000000bb", (_request, response) => {
      response.writeHead(421).end('{"error":{"code":"home_elsewhere"}}');
    });
    const next = await startHome(stack, "00000000000000cc", listener);
    const entry = await startEntry(stack, yes, next);
    // Unlike this one, `fetch` sends what was misdirected once more.
    const client = requestHttp({ port: entry.port });
    const responded = once(client, "response") as Promise<[IncomingMessage]>;
    client.end();
    const [response] = await responded;
    expect([response.statusCode, await text(response)]).toEqual([
      421,
      '{"error":{"code":"home_elsewhere"}}',
    ]);
    expect([entry.outcomes, got]).toEqual([["delivered"], []]);
  });

  test("leaves a request whose body is longer than what is kept to its client", async () => {
    await using stack = new AsyncDisposableStack();
    const no = await startHome(stack, "00000000000000bb", (request, response) => {
      request.resume();
      request.on("end", () => response.writeHead(421, notHome).end("no"));
    });
    const entry = await startEntry(stack, no, no);
    const url = `http://127.0.0.1:${entry.port}/`;
    const response = await fetch(url, { method: "POST", body: "x".repeat(70_000) });
    expect([response.status, entry.outcomes]).toEqual([503, ["untaken"]]);
  });

  test("and is away leaves the request to the next, and is known to refuse", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const away = { ...(await startHome(new AsyncDisposableStack(), "00000000000000bb", listener)) };
    const closed = createServer();
    const port = await listening(closed);
    closed.close();
    const gone = { ...away, linkUrl: `http://127.0.0.1:${port}` };
    const entry = await startEntry(
      stack,
      gone,
      await startHome(stack, "00000000000000cc", listener),
    );
    const response = await fetch(`http://127.0.0.1:${entry.port}/`, { method: "POST", body: "a" });
    expect([response.status, got[0]?.body]).toEqual([200, "a"]);
    expect([entry.outcomes, entry.refused]).toEqual([["untaken", "delivered"], [gone.hubId]]);
  });
});

describe("a home that ends", () => {
  test("before its response leaves a request that is not sent again", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const dies = await startHome(stack, "00000000000000bb", ({ socket }) => void socket.destroy());
    const entry = await startEntry(
      stack,
      dies,
      await startHome(stack, "00000000000000cc", listener),
    );
    const response = await fetch(`http://127.0.0.1:${entry.port}/`, { method: "POST", body: "a" });
    expect([response.status, got]).toEqual([502, []]);
    expect(entry.outcomes).toEqual(["broken"]);
  });

  test("in the middle of its response leaves one that is not whole", async () => {
    await using stack = new AsyncDisposableStack();
    const dies = await startHome(stack, "00000000000000bb", ({ socket }, response) => {
      response.writeHead(200, { "content-length": 10 });
      response.write("12345", () => socket.destroy());
    });
    const entry = await startEntry(stack, dies);
    const response = await fetch(`http://127.0.0.1:${entry.port}/`);
    await expect(response.text()).rejects.toThrow();
    expect(entry.outcomes).toEqual(["broken"]);
  });
});
