import {
  array,
  assert,
  type Arbitrary,
  asyncProperty,
  constantFrom,
  nat,
  oneof,
  record,
  uint8Array,
} from "fast-check";
import { expect, test } from "vitest";
import { mustHaveMet, propertyRuns, propertyTimeoutMs, SEEDS } from "../support/property-runs.ts";
import { openConversation } from "../support/clients/raw-conversation.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

const room = "ROOMXX";

function request(line: string, json?: object, ...headers: string[]): Buffer {
  const body = json === undefined ? "" : JSON.stringify(json);
  const length = json === undefined ? [] : [`content-length: ${body.length}`];
  return Buffer.from(
    [`${line} HTTP/1.1`, "host: hub", ...length, ...headers, "", body].join("\r\n"),
  );
}

const ada = { id: "ada", nickname: "Ada", model: "m", endpoint: "http://127.0.0.1:9" };
const valid = [
  request("GET /health"),
  request("GET /rooms"),
  request("POST /rooms", { name: "lab", password: "swordfish" }),
  request(`POST /rooms/${room}/join`, ada),
  request(`PUT /v1/rooms/${room}/participants/ada`, { nickname: "Eve" }),
  request(`POST /rooms/${room}/health`, { id: "ada" }),
  request(`GET /rooms/${room}/participants`),
  request(`DELETE /rooms/${room}/leave/ada`),
  request(
    `OPTIONS /rooms/${room}/join`,
    undefined,
    "origin: http://a",
    "access-control-request-method: PUT",
  ),
  request(`GET /v1/rooms/${room}/events`),
  request("GET /rooms/../health"),
  request(`GET /rooms/${room}/%2e%2e/participants`),
  request(`POST /rooms/${room}/v1/chat/completions`, { model: "*", stream: true, messages: [] }),
  request(`POST /v1/rooms/${room}/responses`, { model: "ada", input: "hello" }),
  request(
    `GET /v1/rooms/${room}/participants/ada/tunnel`,
    undefined,
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol: roomhub.tunnel.v1",
    `authorization: Bearer rhp_${"A".repeat(43)}`,
  ),
  Buffer.from(
    'POST /rooms HTTP/1.1\r\nhost: hub\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"nam\r\n7\r\ne":"a"}\r\n0\r\n\r\n',
  ),
];

const noise = oneof(
  uint8Array({ minLength: 1, maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  constantFrom(
    "\r\n",
    "\n",
    "\r",
    "\0",
    " ",
    ":",
    "%",
    "/..",
    "\r\n\r\n",
    "0\r\n\r\n",
    "transfer-encoding: chunked\r\n",
    "content-length: 3\r\n",
    "host: b\r\n",
    "expect: 100-continue\r\n",
    "expect: x\r\n",
    "upgrade: h2c\r\nconnection: upgrade\r\n",
    `x: ${"y".repeat(17_000)}\r\n`,
    "GET http://a/ HTTP/1.1\r\n",
    '{"__proto__":{"a":1}}',
    "[".repeat(3_000),
  ).map((text) => Buffer.from(text, "latin1")),
);

/** In thousandths of a request's length, often in its first line. */
const somewhere = oneof(nat(1_000), nat(250));
/** One change somewhere in a request. */
const change = oneof(
  record({ at: somewhere, put: noise }).map(
    ({ at, put }) =>
      (bytes: Buffer) =>
        Buffer.concat([bytes.subarray(0, place(bytes, at)), put, bytes.subarray(place(bytes, at))]),
  ),
  record({ at: somewhere, put: noise }).map(({ at, put }) => (bytes: Buffer) => {
    const from = place(bytes, at);
    return Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + put.length)]);
  }),
  record({ at: somewhere, count: nat(40) }).map(({ at, count }) => (bytes: Buffer) => {
    const from = place(bytes, at);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + count)]);
  }),
  somewhere.map((at) => (bytes: Buffer) => bytes.subarray(0, place(bytes, at))),
);

function place(bytes: Buffer, thousandths: number): number {
  return Math.floor((bytes.length * thousandths) / 1_000);
}

const mutated = record({
  bytes: constantFrom(...valid),
  changes: array(change, { maxLength: 3 }),
}).map(({ bytes, changes }) => changes.reduce((now, apply) => apply(now), bytes));

/** What is written on one connection, write by write. */
const said: Arbitrary<Buffer[]> = array(
  oneof(
    { weight: 4, arbitrary: mutated },
    { weight: 1, arbitrary: uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
  ),
  { minLength: 1, maxLength: 4 },
);

test.for(SEEDS)(
  "whatever bytes come, the hub answers in its own shape or closes, and serves the next one (seed %i)",
  { timeout: propertyTimeoutMs },
  async (seed) => {
    await using hub = await startTestHub({ direct: false, limits: { roomCreationBurst: 1e6 } });
    const code = await hub.createRoom();
    const seen = new Set<number>();
    await assert(
      asyncProperty(said, async (writes) => {
        const connection = openConversation(hub.port);
        for (const bytes of writes) {
          connection.say(Buffer.from(bytes.toString("latin1").replaceAll(room, code), "latin1"));
        }
        // On a connection of its own, and after the noise was read.
        expect((await hub.fetch("/health")).status).toBe(200);
        connection.finish();
        const { answers } = await connection.ended;
        for (const { status, headers, body } of answers) {
          seen.add(status);
          expect(status === 503 || status < 500).toBe(true);
          if (status < 400) continue;
          expect(headers["x-request-id"]).toMatch(/^\S+$/);
          expect(JSON.parse(body)).toMatchObject({ error: { code: expect.stringMatching(/\S/) } });
        }
      }),
      propertyRuns(seed, 250),
    );
    expect(hub.log.filter((line) => line.includes(" bug "))).toEqual([]);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect((await hub.client.getRoom(code)).code).toBe(code);
    if (mustHaveMet(seed)) {
      expect([...seen]).toEqual(expect.arrayContaining([200, 201, 400, 404]));
    }
  },
);

test("clients that send their requests in drips are disconnected in time, and delay no other client", async () => {
  const limits = { headersReadMs: 300, bodyReadMs: 300 };
  await using hub = await startTestHub({ limits });
  const head = "POST /rooms HTTP/1.1\r\nhost: hub\r\n";
  const starts = [head, `${head}content-length: 60000\r\n\r\n`];
  const drippers = Array.from({ length: 200 }, (_, index) => {
    const connection = openConversation(hub.port);
    connection.say(starts[index % 2] ?? "");
    return connection;
  });
  const drip = setInterval(() => {
    for (const one of drippers) if (!one.isClosed) one.say("x");
  }, 10);
  try {
    const startMs = performance.now();
    let slowestMs = 0;
    for (
      let left = drippers.length;
      left > 0;
      left = drippers.filter((one) => !one.isClosed).length
    ) {
      const askedMs = performance.now();
      expect((await hub.fetch("/health")).status).toBe(200);
      slowestMs = Math.max(slowestMs, performance.now() - askedMs);
    }
    // The heads are checked once a second.
    expect(performance.now() - startMs).toBeLessThan(5_000);
    // Blocked, it would wait until the drips are disconnected.
    expect(slowestMs).toBeLessThan(4_000);
  } finally {
    clearInterval(drip);
  }
  for (const { ended } of drippers) {
    const { answers } = await ended;
    expect(answers.map(({ status }) => status)).toEqual([408]);
  }
});
