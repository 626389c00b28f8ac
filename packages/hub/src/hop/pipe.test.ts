import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { PipedRequest } from "./pipe.ts";
import {
  bob,
  cyd,
  hopsTo,
  listening,
  notHome,
  raw,
  recording,
  refusingUrl,
  startEntry,
  startHome,
} from "./hop.fixture.ts";

describe("a request that is piped", () => {
  test("comes with its method, path, headers and body, and what the hub says of its client", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const entry = await startEntry(stack, await startHome(stack, bob, listener));
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
    expect(entry.kinds()).toEqual(["delivered"]);
  });

  test("uses a connection again, and never one that serves another request", async () => {
    await using stack = new AsyncDisposableStack();
    const waiting: (() => void)[] = [];
    const home = await startHome(stack, bob, (_request, response) => {
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
    const entry = await startEntry(stack, await startHome(stack, bob, listener));
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
    const home = await startHome(stack, bob, (request, response) => {
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

  test("has 100 and 102 before its response, and no other informational response", async () => {
    await using stack = new AsyncDisposableStack();
    const home = await startHome(stack, bob, (request, response) => {
      response.writeContinue();
      response.writeProcessing();
      response.writeEarlyHints({ link: "</a>" });
      request.resume().on("end", () => response.writeHead(204).end());
    });
    const entry = await startEntry(stack, home);
    const response = await raw(
      entry.port,
      "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
    );
    const statuses = [...response.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status);
    expect(statuses).toEqual(["100", "102", "204"]);
    expect(entry.kinds()).toEqual(["delivered"]);
  });

  test("without a body in its response leaves the connection for the next one", async () => {
    await using stack = new AsyncDisposableStack();
    const home = await startHome(stack, bob, ({ method }, response) => {
      if (method === "HEAD") response.writeHead(200, { "content-length": 10 });
      response.end();
    });
    const entry = await startEntry(stack, home);
    for (const method of ["HEAD", "GET", "HEAD"]) {
      const response = await fetch(`http://127.0.0.1:${entry.port}/`, { method });
      expect([response.status, await response.text()]).toEqual([200, ""]);
    }
    expect([entry.kinds(), home.sockets.size]).toEqual([Array(3).fill("delivered"), 1]);
  });

  test.each([{ framing: "of a known length" }, { framing: "in chunks" }])(
    "stops its home while the client does not read the response $framing, which comes whole",
    async ({ framing }) => {
      await using stack = new AsyncDisposableStack();
      const body = randomBytes(16 * 1024 * 1024);
      const served = Promise.withResolvers<ServerResponse>();
      const home = await startHome(stack, bob, (_request, response) => {
        if (framing !== "in chunks") response.setHeader("content-length", body.length);
        for (let at = 0; at < body.length; at += 100_000)
          response.write(body.subarray(at, at + 100_000));
        response.end();
        served.resolve(response);
      });
      const entry = await startEntry(stack, home);
      const client = requestHttp({ port: entry.port });
      client.end();
      const [response] = (await once(client, "response")) as [IncomingMessage];
      const { socket } = await served.promise;
      await once(response, "readable");
      let before = -1;
      await expect.poll(() => before === (before = socket?.writableLength ?? 0)).toBe(true);
      expect(before).toBeGreaterThan(1_000_000);
      expect(body.equals(await buffer(response))).toBe(true);
      await expect.poll(entry.kinds).toEqual(["delivered"]);
    },
  );

  test("ends at the home when its client leaves", async () => {
    await using stack = new AsyncDisposableStack();
    const arrived = Promise.withResolvers<IncomingMessage>();
    const home = await startHome(stack, bob, (request) => arrived.resolve(request));
    const entry = await startEntry(stack, home);
    const client = requestHttp({ port: entry.port });
    client.on("error", () => {});
    client.end();
    const request = await arrived.promise;
    const closed = once(request.socket, "close");
    client.destroy();
    await closed;
    expect(entry.kinds()).toEqual(["gone"]);
  });
});

describe("a hub that is not the home", () => {
  test("says so in a header, and the request goes to the next with every byte of its body", async () => {
    await using stack = new AsyncDisposableStack();
    const no = await startHome(stack, bob, (request, response) => {
      request.resume();
      request.on("end", () => response.writeHead(421, notHome).end("no"));
    });
    const { got, listener } = recording();
    const yes = await startHome(stack, cyd, listener);
    const entry = await startEntry(stack, no, yes);
    const body = "x".repeat(60_000);
    const url = `http://127.0.0.1:${entry.port}/`;
    expect(await (await fetch(url, { method: "POST", body })).text()).toBe("ok");
    expect(got[0]?.body).toBe(body);
    expect(entry.kinds()).toEqual(["untaken", "delivered"]);
  });

  test("may say so before it has the body, and end on it: the next one has every byte, however late it is found", async () => {
    await using stack = new AsyncDisposableStack();
    const no = await startHome(stack, bob, ({ socket }, response) => {
      response.writeHead(421, { ...notHome, "content-length": 10 });
      response.write("cut", () => socket.destroy());
    });
    const { got, listener } = recording();
    const yes = await startHome(stack, cyd, listener);
    const hops = hopsTo([no, yes]);
    stack.defer(() => hops.close());
    const [refused, found] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    const server = createServer((request, response) => {
      const opened = new PipedRequest(request, response);
      void hops.send(opened, no, "{}").then(async ({ kind }) => {
        refused.resolve(kind);
        await found.promise;
        await hops.send(opened, yes, "{}");
      });
    });
    stack.defer(() => server.close().closeAllConnections());
    const port = await listening(server);
    const client = requestHttp({ port, method: "POST", headers: { "content-length": 90_000 } });
    client.write("x".repeat(10_000));
    expect(await refused.promise).toBe("untaken");
    client.end("y".repeat(80_000));
    // Meanwhile nothing of it is to be read.
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    found.resolve();
    const [response] = (await once(client, "response")) as [IncomingMessage];
    expect(await text(response)).toBe("ok");
    expect(got[0]?.body).toBe("x".repeat(10_000) + "y".repeat(80_000));
  });

  test("may pass on the 421 of a model server, which is a response", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const yes = await startHome(stack, bob, (_request, response) => {
      response.writeHead(421).end('{"error":{"code":"home_elsewhere"}}');
    });
    const next = await startHome(stack, cyd, listener);
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
    expect([entry.kinds(), got]).toEqual([["delivered"], []]);
  });

  test("leaves a request whose body is longer than what is kept to its client", async () => {
    await using stack = new AsyncDisposableStack();
    const no = await startHome(stack, bob, (request, response) => {
      request.resume();
      request.on("end", () => response.writeHead(421, notHome).end("no"));
    });
    const entry = await startEntry(stack, no, no);
    const url = `http://127.0.0.1:${entry.port}/`;
    const response = await fetch(url, { method: "POST", body: "x".repeat(70_000) });
    expect([response.status, entry.kinds()]).toEqual([503, ["untaken"]]);
  });

  test("and is away leaves the request to the next, and is known to refuse", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const gone = { ...bob, linkUrl: await refusingUrl() };
    const entry = await startEntry(stack, gone, await startHome(stack, cyd, listener));
    const response = await fetch(`http://127.0.0.1:${entry.port}/`, { method: "POST", body: "a" });
    expect([response.status, got[0]?.body]).toEqual([200, "a"]);
    expect([entry.kinds(), entry.refused]).toEqual([["untaken", "delivered"], [gone.hubId]]);
  });
});

describe("a home that ends", () => {
  test("before its response leaves a request that is not sent again", async () => {
    await using stack = new AsyncDisposableStack();
    const { got, listener } = recording();
    const dies = await startHome(stack, bob, ({ socket }) => void socket.destroy());
    const entry = await startEntry(stack, dies, await startHome(stack, cyd, listener));
    const response = await fetch(`http://127.0.0.1:${entry.port}/`, { method: "POST", body: "a" });
    expect([response.status, got]).toEqual([502, []]);
    expect(entry.kinds()).toEqual(["broken"]);
  });

  test("in the middle of its response leaves one that is not whole", async () => {
    await using stack = new AsyncDisposableStack();
    const dies = await startHome(stack, bob, ({ socket }, response) => {
      response.writeHead(200, { "content-length": 10 });
      response.write("12345", () => socket.destroy());
    });
    const entry = await startEntry(stack, dies);
    const response = await fetch(`http://127.0.0.1:${entry.port}/`);
    await expect(response.text()).rejects.toThrow();
    expect(entry.kinds()).toEqual(["broken"]);
  });
});

describe("a home whose client is behind", () => {
  test("and that ends meanwhile leaves what had come, and a response that is not whole", async () => {
    await using stack = new AsyncDisposableStack();
    const served = Promise.withResolvers<ServerResponse>();
    const home = await startHome(stack, bob, (_request, response) => {
      response.writeHead(200, { "content-length": 64 * 1024 * 1024 });
      response.write(Buffer.alloc(32 * 1024 * 1024));
      served.resolve(response);
    });
    const entry = await startEntry(stack, home);
    const client = requestHttp({ port: entry.port });
    client.end();
    const [response] = (await once(client, "response")) as [IncomingMessage];
    await once(response, "readable");
    (await served.promise).destroy();
    await expect(buffer(response)).rejects.toThrow();
    expect(entry.kinds()).toEqual(["broken"]);
  });
});

describe("a home that has its response before the whole request", () => {
  test("leaves the client's connection to the hub, which sends nothing more there", async () => {
    await using stack = new AsyncDisposableStack();
    const home = await startHome(stack, bob, (_request, response) => {
      response.writeHead(401, { "content-length": 2 }).end("no");
    });
    const entry = await startEntry(stack, home);
    const client = requestHttp({ port: entry.port, method: "POST" });
    client.write("x".repeat(1_000));
    const [response] = (await once(client, "response")) as [IncomingMessage];
    expect([response.statusCode, await text(response)]).toEqual([401, "no"]);
    await expect.poll(() => home.sockets.size).toBe(0);
    expect(entry.kinds()).toEqual(["delivered"]);
    client.destroy();
  });
});

describe("a stream that has begun with comments", () => {
  const began = { "x-began": "1" };

  test("goes on with the home's stream", async () => {
    await using stack = new AsyncDisposableStack();
    const home = await startHome(stack, bob, (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end("data: 1\n\n");
    });
    const entry = await startEntry(stack, home);
    const response = await fetch(`http://127.0.0.1:${entry.port}/`, { headers: began });
    expect(await response.text()).toBe(": waiting\n\ndata: 1\n\n");
  });

  test("has the refusal of the home, of which a bounded part is kept", async () => {
    await using stack = new AsyncDisposableStack();
    const bodies = ["no model", "x".repeat(10_000_000)];
    const home = await startHome(stack, bob, (_request, response) => {
      response.writeHead(404).end(bodies.shift());
    });
    const entry = await startEntry(stack, home);
    const ask = () => fetch(`http://127.0.0.1:${entry.port}/`, { headers: began });
    expect(await (await ask()).text()).toBe(": waiting\n\ndata: no model\n\n");
    expect((await (await ask()).text()).length).toBeLessThan(200_000);
    expect(entry.kinds()).toEqual(["refused", "refused"]);
  });

  test("has each character of the refusal, however its bytes arrive", async () => {
    await using stack = new AsyncDisposableStack();
    const home = await startHome(stack, bob, (_request, response) => {
      response.writeHead(404);
      const bytes = [...Buffer.from("für 模型")];
      const writeNext = () => {
        const byte = bytes.shift();
        if (byte === undefined) response.end();
        else response.write(Buffer.of(byte), () => setImmediate(writeNext));
      };
      writeNext();
    });
    const entry = await startEntry(stack, home);
    const response = await fetch(`http://127.0.0.1:${entry.port}/`, { headers: began });
    expect(await response.text()).toBe(": waiting\n\ndata: für 模型\n\n");
  });

  test("is broken where the refusal is cut", async () => {
    await using stack = new AsyncDisposableStack();
    const home = await startHome(stack, bob, ({ socket }, response) => {
      response.writeHead(404, { "content-length": 100 });
      response.write("no mod", () => socket.destroy());
    });
    const entry = await startEntry(stack, home);
    const response = await fetch(`http://127.0.0.1:${entry.port}/`, { headers: began });
    await expect(response.text()).rejects.toThrow();
    expect(entry.kinds()).toEqual(["broken"]);
  });
});
