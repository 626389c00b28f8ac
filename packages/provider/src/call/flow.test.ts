import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { httpResponse, record, startRawProvider } from "../fake-provider.fixture.ts";
import { ProviderClient } from "./provider-client.ts";

const options = { connectTimeoutMs: 2_000 };
const post = { method: "POST", path: "/chat/completions", body: [Buffer.from("{}")] };

test("a streamed body goes out in pieces on a socket of its own, and drains", async () => {
  const total = 8 * 1024 * 1024;
  let receivedBytes = 0;
  await using provider = await startRawProvider((socket, data) => {
    receivedBytes += data.length;
    const text = data.subarray(-5).toString();
    if (text === "0\r\n\r\n" || text.endsWith("{}")) socket.write(httpResponse("{}"));
  });
  await using client = new ProviderClient(options);
  let sent = 0;
  let waits = 0;
  const piece = Buffer.alloc(64 * 1024, 97);
  const got = record(
    client,
    { ...post, body: "streamed", baseUrl: provider.baseUrl },
    { onBodyDrain: send },
  );
  function send(): void {
    while (sent < total) {
      sent += piece.length;
      if (!got.call.writeBody(piece)) return void waits++;
    }
    got.call.endBody();
  }
  send();
  await got.closed;
  expect(got.log).toEqual(["head", "data", "end", "closed"]);
  expect(waits).toBeGreaterThan(3);
  expect(receivedBytes).toBeGreaterThan(total);
  expect(provider.received[0]).toContain("transfer-encoding: chunked");
  await record(client, { ...post, baseUrl: provider.baseUrl }).closed;
  expect(provider.sockets).toHaveLength(2);
});

test("a streamed body whose length is known goes out as it is", async () => {
  await using provider = await startRawProvider((socket, data) => {
    if (data.toString().endsWith("def")) socket.write(httpResponse("{}"));
  });
  await using client = new ProviderClient(options);
  const upload = { ...post, body: "streamed", bodyBytes: 6, baseUrl: provider.baseUrl } as const;
  const got = record(client, upload);
  for (const text of ["ab", "", "cdef"]) got.call.writeBody(Buffer.from(text));
  got.call.endBody();
  await got.closed;
  expect(got.log).toEqual(["head", "data", "end", "closed"]);
  expect(provider.received[0]).toMatch(/\r\ncontent-length: 6\r\n\r\nabcdef$/);
});

test.each([
  ["longer", "abcd"],
  ["shorter", "ab"],
])("a streamed body that is %s than its length fails the call", async (_what, text) => {
  await using provider = await startRawProvider(() => undefined);
  await using client = new ProviderClient(options);
  const upload = { ...post, body: "streamed", bodyBytes: 3, baseUrl: provider.baseUrl } as const;
  const got = record(client, upload);
  got.call.writeBody(Buffer.from(text));
  got.call.endBody();
  await got.closed;
  expect(got.log).toEqual(["internal_error", "closed"]);
  expect(provider.received.join("")).not.toContain("abcd");
});

test("a response that comes before the body is sent is whole, and the rest of the body is dropped", async () => {
  await using provider = await startRawProvider((socket, _data, index) => {
    if (index === 0) socket.write(httpResponse('{"error":1}', "", "413 Too Large"));
  });
  await using client = new ProviderClient(options);
  const got = record(client, { ...post, body: "streamed", baseUrl: provider.baseUrl });
  got.call.writeBody(Buffer.from("abc"));
  await got.closed;
  expect(got).toMatchObject({ status: 413, body: '{"error":1}' });
  expect(got.log).toEqual(["head", "data", "end", "closed"]);
  expect(got.call.writeBody(Buffer.from("late"))).toBe(true);
  got.call.endBody();
});

test.each([
  ["to the end of its connection", "", Buffer.alloc(64 * 1024, 98)],
  [
    ...(["in chunks", "transfer-encoding: chunked\r\n"] as const),
    Buffer.from(`4000\r\n${"b".repeat(0x4000)}\r\n`.repeat(4)),
  ],
])(
  "a slow reader of a response %s pauses the provider: memory stays bounded",
  async (_how, framing, chunk) => {
    let written = 0;
    await using provider = await startRawProvider((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${framing}content-type: text/event-stream\r\n\r\n`);
      const pump = () => {
        while (!socket.destroyed && written < 256 * 1024 * 1024) {
          written += chunk.length;
          if (socket.write(chunk)) continue;
          socket.once("drain", pump);
          break;
        }
      };
      pump();
    });
    await using client = new ProviderClient(options);
    let taken = 0;
    let isReading = false;
    const got = record(
      client,
      { ...post, baseUrl: provider.baseUrl },
      { onData: (data) => ((taken += data.length), isReading) },
    );
    await got.head;
    let before = -1;
    // Stalls once the kernel's buffers are full.
    await vi.waitFor(
      () => {
        const isStalled = before === written;
        before = written;
        expect(isStalled).toBe(true);
      },
      { interval: 100, timeout: 4_000 },
    );
    expect(taken).toBeLessThan(256 * 1024);
    expect(written).toBeLessThan(32 * 1024 * 1024);
    isReading = true;
    got.call.resume();
    await vi.waitFor(() => expect(written).toBeGreaterThan(before));
    got.call.cancel();
    await got.closed;
    expect(got.log.at(-1)).toBe("closed");
  },
);

test("a reader that is behind has all that came before the connection broke, one piece each time", async () => {
  const pieces = ["3\r\nabc\r\n", "2\r\nde\r\n", "4\r\nfg"];
  await using provider = await startRawProvider((socket) => {
    const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    socket.write(head + pieces.join(""), () => setImmediate(() => socket.resetAndDestroy()));
  });
  await using client = new ProviderClient(options);
  const taken: string[] = [];
  const got = record(
    client,
    { ...post, baseUrl: provider.baseUrl },
    { onData: (data) => (taken.push(data.toString()), false) },
  );
  await got.head;
  const [socket] = provider.sockets;
  if (socket?.closed === false) await once(socket, "close");
  for (let count = 1; count <= 3; count++) {
    await vi.waitFor(() => expect(taken).toHaveLength(count));
    expect(got.log).toEqual(["head"]);
    got.call.resume();
  }
  await got.closed;
  expect(taken).toEqual(["abc", "de", "fg"]);
  expect(got.log).toEqual(["head", "provider_disconnected", "closed"]);
});

test("a response is whole once its reader has taken the last piece", async () => {
  await using provider = await startRawProvider((socket) => socket.write(httpResponse("{}")));
  await using client = new ProviderClient(options);
  const request = { ...post, baseUrl: provider.baseUrl };
  const got = record(client, request, { onData: () => false });
  await got.head;
  expect(got.log).toEqual(["head"]);
  got.call.resume();
  await got.closed;
  expect(got.log).toEqual(["head", "end", "closed"]);
  await record(client, request).closed;
  expect(provider.sockets).toHaveLength(1);
});
