import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { httpResponse, record, startRawProvider } from "../fake-provider.fixture.ts";
import { ProviderClient } from "./provider-client.ts";

const options = { connectTimeoutMs: 2_000 };
const post = {
  method: "POST",
  path: "/chat/completions",
  headers: { "content-type": "application/json" },
  body: [Buffer.from('{"a":'), Buffer.from("1}")],
};

test("a call knows whether the provider has taken its connection", async () => {
  await using provider = await startRawProvider((socket) => socket.write(httpResponse("{}")));
  await using client = new ProviderClient(options);
  const first = record(client, { baseUrl: provider.baseUrl });
  expect(first.call.isAccepted).toBe(false);
  await first.closed;
  expect(first.call.isAccepted).toBe(true);
});

test("a response arrives as head, data, end, closed; the request is framed by the client alone", async () => {
  await using provider = await startRawProvider((socket) =>
    socket.write(httpResponse("{}", "x-twice: one\r\nX-Twice: two\r\nset-cookie: a=b\r\n")),
  );
  await using client = new ProviderClient(options);
  const headers = {
    ...post.headers,
    authorization: "Bearer k",
    host: "evil",
    "content-length": "1",
    "Transfer-Encoding": "chunked",
    "accept-encoding": "gzip",
    connection: "upgrade",
  };
  const got = record(client, { ...post, baseUrl: provider.baseUrl, headers });
  await got.closed;
  expect(got.log).toEqual(["head", "data", "end", "closed"]);
  expect(got).toMatchObject({ status: 200, body: "{}" });
  expect(got.headers).toMatchObject({ "x-twice": "one", "set-cookie": "a=b" });
  const sent = provider.received.join("");
  expect(sent).toMatch(/^POST \/v1\/chat\/completions HTTP\/1.1\r\n/);
  expect(sent).toContain("content-length: 7\r\n");
  expect(sent).toContain("accept-encoding: identity\r\n");
  expect(sent).toContain("authorization: Bearer k\r\n");
  expect(sent).toContain(`Host: 127.0.0.1:${provider.port}\r\n`);
  expect(sent).not.toMatch(/evil|chunked|gzip|upgrade/i);
  expect(sent.endsWith('\r\n\r\n{"a":1}')).toBe(true);
});

const gzipped = gzipSync("{}").toString("latin1");
const liars: Record<string, [reply: string, closes: boolean, log: string[], message: RegExp]> = {
  "speaks something else": [
    "SSH-2.0-x\r\n",
    true,
    ["provider_invalid_response"],
    /sent invalid HTTP/,
  ],
  "closes at once": ["", true, ["provider_disconnected"], /before it responded/],
  "closes in the middle of the head": [
    "HTTP/1.1 200 OK\r\ncontent-ty",
    true,
    ["provider_disconnected"],
    /before it responded/,
  ],
  "sends half a body": [
    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
    true,
    ["head", "data", "provider_disconnected"],
    /in the middle/,
  ],
  "sends half a chunk": [
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhal",
    true,
    ["head", "data", "provider_disconnected"],
    /in the middle/,
  ],
  "breaks its chunks": [
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nZZ\r\n",
    false,
    ["head", "data", "provider_invalid_response"],
    /invalid HTTP/,
  ],
  "sends content-length and chunks": [
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    false,
    ["provider_invalid_response"],
    /invalid HTTP/,
  ],
  "sends two content-lengths": [
    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
    false,
    ["provider_invalid_response"],
    /invalid HTTP/,
  ],
  "sends huge headers": [
    `HTTP/1.1 200 OK\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
    false,
    ["provider_invalid_response"],
    /larger than 16 KiB/,
  ],
  "compresses unasked": [
    httpResponse(gzipped, "content-encoding: gzip\r\n"),
    false,
    ["provider_invalid_response"],
    /compressed/,
  ],
  "compresses twice": [
    httpResponse(gzipped, "content-encoding: identity, X-GZip\r\n"),
    false,
    ["provider_invalid_response"],
    /compressed/,
  ],
  "switches protocols": [
    "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
    false,
    ["provider_invalid_response"],
    /switch protocols/,
  ],
  "sends early hints without end": [
    "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(2_000),
    false,
    ["provider_invalid_response"],
    /1xx/,
  ],
  "invents a status": [
    httpResponse("{}", "", "999 Odd"),
    false,
    ["provider_invalid_response"],
    /999/,
  ],
};
for (const [what, [bytes, closes, log, message]] of Object.entries(liars)) {
  test(`a provider that ${what} ends in ${log.at(-1)}, and its socket is closed`, async () => {
    await using provider = await startRawProvider((socket) => {
      if (closes) socket.end(bytes, "latin1");
      else socket.write(bytes, "latin1");
    });
    await using client = new ProviderClient(options);
    const got = record(client, { ...post, baseUrl: provider.baseUrl });
    await got.closed;
    expect(got.log).toEqual([...log, "closed"]);
    expect(got.failure?.message).toMatch(message);
    await vi.waitFor(() => expect(provider.sockets[0]?.destroyed).toBe(true));
  });
}

const honest: Record<string, [reply: string, closes: boolean, status: number, body: string]> = {
  "a redirect, not followed": [
    httpResponse("", "location: http://elsewhere/\r\n", "302 Found"),
    false,
    302,
    "",
  ],
  "hints and processing first": [
    `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${httpResponse("{}")}`,
    false,
    200,
    "{}",
  ],
  "a body that ends with the connection": ["HTTP/1.0 200 OK\r\n\r\nold", true, 200, "old"],
  "no content": ["HTTP/1.1 204 No Content\r\n\r\n", false, 204, ""],
  "Latin-1 rubbish in a header": [httpResponse("{}", "x-odd: \xff\xfe\x80\r\n"), false, 200, "{}"],
  "identity encoding": [httpResponse("{}", "content-encoding: Identity\r\n"), false, 200, "{}"],
  "an encoding that is none": [httpResponse("{}", "content-encoding: none\r\n"), false, 200, "{}"],
  "a character set for an encoding": [
    httpResponse("{}", "content-encoding: UTF-8\r\n"),
    false,
    200,
    "{}",
  ],
};
for (const [what, [bytes, closes, status, body]] of Object.entries(honest)) {
  test(`${what}: passes`, async () => {
    await using provider = await startRawProvider((socket) => {
      if (closes) socket.end(bytes, "latin1");
      else socket.write(bytes, "latin1");
    });
    await using client = new ProviderClient(options);
    const got = record(client, { ...post, baseUrl: provider.baseUrl });
    await got.closed;
    expect(got).toMatchObject({ status, body });
    expect(got.log.slice(-2)).toEqual(["end", "closed"]);
    expect(provider.sockets).toHaveLength(1);
  });
}

test("a refused connection names the place, both addresses of localhost and what to check", async () => {
  const provider = await startRawProvider(() => {});
  await provider.close();
  await using client = new ProviderClient(options);
  const got = record(client, { baseUrl: `http://localhost:${provider.port}/v1` });
  await got.closed;
  expect(got.log).toEqual(["provider_unreachable", "closed"]);
  expect(got.failure?.message).toContain(`localhost:${provider.port} `);
  expect(got.failure?.message).toMatch(/127\.0\.0\.1 and ::1/);
  expect(got.failure?.message).toMatch(/running/);
});

test("localhost finds a provider on either family", async () => {
  await using client = new ProviderClient(options);
  for (const host of ["127.0.0.1", "::1"]) {
    await using provider = await startRawProvider(
      (socket) => socket.write(httpResponse("{}")),
      host,
    );
    const got = record(client, { baseUrl: `http://localhost:${provider.port}/v1` });
    await got.closed;
    expect(got.body).toBe("{}");
  }
});

test("an address that may not be dialled is not dialled, literal or resolved", async () => {
  await using provider = await startRawProvider((socket) => socket.write(httpResponse("{}")));
  const requested: string[] = [];
  await using client = new ProviderClient({
    ...options,
    addressProblem: (address) => (requested.push(address), "loopback is not allowed here"),
  });
  for (const host of ["127.0.0.1", "localhost", "0x7f.1", "[::1]", "[::ffff:7f00:1]"]) {
    const got = record(client, { baseUrl: `http://${host}:${provider.port}/v1` });
    await got.closed;
    expect(got.log).toEqual(["provider_unreachable", "closed"]);
    expect(got.failure?.message).toContain("was not dialled: loopback is not allowed here");
  }
  expect(provider.sockets).toHaveLength(0);
  expect(requested).toEqual(expect.arrayContaining(["127.0.0.1", "::1", "::ffff:7f00:1"]));
});

test("a literal address is judged at each call", async () => {
  await using provider = await startRawProvider((socket) => socket.write(httpResponse("{}")));
  let problem: string | undefined;
  await using client = new ProviderClient({ ...options, addressProblem: () => problem });
  const baseUrl = `http://127.0.0.1:${provider.port}/v1`;
  const allowed = record(client, { baseUrl });
  await allowed.closed;
  expect(allowed.body).toBe("{}");
  problem = "it is this machine's now";
  const refused = record(client, { baseUrl });
  await refused.closed;
  expect(refused.failure?.message).toContain(problem);
});

test("of several addresses only the allowed ones are dialled", async () => {
  await using provider = await startRawProvider((socket) => socket.write(httpResponse("{}")));
  await using client = new ProviderClient({
    ...options,
    addressProblem: (address) => (address === "127.0.0.1" ? undefined : "no"),
  });
  const got = record(client, { baseUrl: `http://localhost:${provider.port}/v1` });
  await got.closed;
  expect(got.body).toBe("{}");
});

test("a connection that is never accepted is given up after the connect timeout", async () => {
  // TLS against a server that says nothing: connected for TCP, never for us.
  await using provider = await startRawProvider(() => {});
  await using client = new ProviderClient({ connectTimeoutMs: 40 });
  const got = record(client, { baseUrl: `https://127.0.0.1:${provider.port}/v1` });
  await got.closed;
  expect(got.log).toEqual(["provider_unreachable", "closed"]);
  expect(got.failure?.message).toMatch(/within 0.04 s/);
});

test("https to a server without TLS says so", async () => {
  await using provider = await startRawProvider((socket) =>
    socket.write("HTTP/1.1 400 Bad\r\n\r\n"),
  );
  await using client = new ProviderClient(options);
  const got = record(client, { baseUrl: `https://127.0.0.1:${provider.port}/v1` });
  await got.closed;
  expect(got.failure?.message).toMatch(/does not support TLS/);
});

test("what cannot be written in a request fails instead of throwing", async () => {
  await using client = new ProviderClient(options);
  const bad = [{ headers: { "x-a": "b\r\nc: d" } }, { path: "/a b" }];
  for (const part of bad) {
    const got = record(client, { baseUrl: "http://127.0.0.1:9/v1", ...part });
    await got.closed;
    expect(got.log).toEqual(["provider_unreachable", "closed"]);
    expect(got.failure?.message).toMatch(/cannot be written/);
  }
});

test("cancel closes the provider's socket, in every phase", async () => {
  const phases = ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"];
  await using client = new ProviderClient(options);
  for (const bytes of phases) {
    const arrived = Promise.withResolvers<void>();
    await using provider = await startRawProvider((socket) => {
      socket.write(bytes);
      arrived.resolve();
    });
    const got = record(client, { ...post, baseUrl: provider.baseUrl });
    await arrived.promise;
    if (bytes !== "") await got.head;
    const closed = once(provider.sockets[0]!, "close");
    got.call.cancel();
    got.call.cancel();
    await Promise.all([closed, got.closed]);
    expect(got.log).toEqual(bytes === "" ? ["closed"] : ["head", "closed"]);
  }
  const early = record(client, { baseUrl: "http://127.0.0.1:9/v1" });
  early.call.cancel();
  await early.closed;
  expect(early.log).toEqual(["closed"]);
});

test("close() fails what runs and waits for the last socket", async () => {
  await using provider = await startRawProvider(() => {});
  const client = new ProviderClient(options);
  const got = record(client, { ...post, baseUrl: provider.baseUrl });
  await vi.waitFor(() => expect(provider.received).toHaveLength(1));
  await client.close();
  expect(got.log).toEqual(["provider_disconnected", "closed"]);
  expect(got.failure?.message).toMatch(/was stopped here/);
  await client.close();
});
