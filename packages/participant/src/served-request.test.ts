import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { RESET_CODES } from "@roomhub/tunnel";
import { expect, test, vi } from "vitest";
import { send, startFakeHub } from "./fake-hub.fixture.ts";
import { startFakeModelServer } from "./fake-model-server.fixture.ts";
import { createTestParticipant, startWith, type TestOptions } from "./test-participant.fixture.ts";

async function startAll(
  respond: Parameters<typeof startFakeModelServer>[0],
  over: TestOptions = {},
) {
  const hub = await startFakeHub();
  const model = await startFakeModelServer(respond);
  const ana = createTestParticipant(hub, model.endpoint, over);
  const session = await startWith(hub, ana);
  return {
    hub,
    model,
    ana,
    session,
    async [Symbol.asyncDispose]() {
      await ana.participant.close({ drainMs: 0 });
      await model.close();
      await hub.close();
    },
  };
}

test.each([undefined, { kind: "planet", id: "mars" }])(
  "a request from %j has no client in its notices",
  async (client) => {
    await using all = await startAll((response) => response.end("{}"));
    await send(all.session, { client }).closed;
    await vi.waitFor(() => expect(all.ana.kinds()).toContain("request-ended"));
    expect(all.ana.notices.at(-1)).toMatchObject({ kind: "request-ended", client: undefined });
  },
);

test("a small request is served from the provider, with only the forwarded headers each way", async () => {
  await using all = await startAll(
    (response, _incoming, body) => {
      response.writeHead(200, {
        "content-type": "application/json",
        "x-ratelimit-remaining": "3",
        "set-cookie": "a=b",
        server: "x",
      });
      response.end(`{"echo":${body}}`);
    },
    { headers: { authorization: "Bearer local" } },
  );
  const headers = {
    "content-type": "application/json",
    authorization: "Bearer from-hub",
    "x-api-key": "k",
    "x-roomhub-hop": "boot1",
    host: "evil",
  };
  const client = { kind: "key", id: "5f0c1a2b", user: "bob" };
  const exchange = send(all.session, { headers, client, address: "9c1f02ab" });
  await exchange.closed;
  expect(exchange).toMatchObject({
    status: 200,
    body: '{"echo":{}}',
    log: ["head", "end", "closed"],
  });
  expect(exchange.headers).toEqual({
    "content-type": "application/json",
    "x-ratelimit-remaining": "3",
  });
  expect(all.model.requests[0]).toMatchObject({ method: "POST", url: "/v1/chat/completions" });
  expect(all.model.requests[0]?.headers).toMatchObject({
    authorization: "Bearer local",
    "x-api-key": "k",
    "x-roomhub-hop": "boot1",
    "content-length": "2",
    host: `127.0.0.1:${all.model.port}`,
  });
  await vi.waitFor(() => expect(all.ana.kinds()).toContain("request-ended"));
  expect(all.ana.notices.slice(-2)).toEqual([
    { kind: "request-started", path: "/chat/completions", model: "llama3", client },
    {
      kind: "request-ended",
      path: "/chat/completions",
      model: "llama3",
      client,
      status: 200,
      durationMs: expect.any(Number),
      outcome: "complete",
      code: undefined,
      reason: undefined,
      ttftMs: expect.any(Number),
    },
  ]);
});

test("a stream's notice has its time to first token, tokens and speed, by the participant's clock", async () => {
  let nowMs = 1_000;
  const talk = async (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n');
    await vi.waitFor(() => expect(exchange.body).toContain("assistant"));
    nowMs += 250;
    response.write('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n');
    await vi.waitFor(() => expect(exchange.body).toContain("Hi"));
    nowMs += 1_750;
    response.write('data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":40}}\n\n');
    response.end("data: [DONE]\n\n");
  };
  await using all = await startAll((response) => void talk(response), {
    world: { monotonicMs: () => nowMs },
  });
  const exchange = send(all.session, { stream: true });
  await exchange.closed;
  await vi.waitFor(() => expect(all.ana.kinds()).toContain("request-ended"));
  expect(all.ana.notices.at(-1)).toMatchObject({
    outcome: "complete",
    ttftMs: 250,
    durationMs: 2_000,
    inputTokens: 5,
    outputTokens: 40,
    totalTokens: 45,
    tokensPerSecond: 20,
  });
});

test("a request that runs is listed with its time and its tokens so far, by the participant's clock", async () => {
  let nowMs = 1_000;
  const word = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n';
  const answering = Promise.withResolvers<ServerResponse>();
  const respond = (response: ServerResponse) => answering.resolve(response);
  await using all = await startAll(respond, {
    world: { monotonicMs: () => nowMs },
    countsTokens: true,
  });
  const { participant } = all.ana;
  const client = { kind: "name", id: "alice" } as const;
  const exchange = send(all.session, { stream: true, client });
  const response = await answering.promise;
  nowMs += 250;
  const request = { path: "/chat/completions", model: "llama3", client };
  expect(participant.running()).toEqual([{ ...request, runsMs: 250, outputTokens: undefined }]);
  response.writeHead(200, { "content-type": "text/event-stream" }).write(word + word);
  await vi.waitFor(() => expect(exchange.body).toBe(word + word));
  expect(participant.running()).toEqual([{ ...request, runsMs: 250, outputTokens: 2 }]);
  response.end("data: [DONE]\n\n");
  await exchange.closed;
  await vi.waitFor(() => expect(all.ana.kinds()).toContain("request-ended"));
  expect(participant.running()).toEqual([]);
});

test("a response that is not metered has a notice without metrics", async () => {
  const respond = '{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":40}}';
  const [measured, ...others] = await Promise.all(
    [true, false, () => false].map(async (isMetered) => {
      await using all = await startAll(
        (response) => {
          response.writeHead(200, { "content-type": "application/json" }).end(respond);
        },
        { isMetered },
      );
      await send(all.session).closed;
      await vi.waitFor(() => expect(all.ana.kinds()).toContain("request-ended"));
      return all.ana.notices.at(-1);
    }),
  );
  expect(measured).toMatchObject({ outcome: "complete", ttftMs: expect.any(Number) });
  expect(measured).toMatchObject({ outputTokens: 40 });
  for (const notice of others) {
    expect(notice).toMatchObject({ outcome: "complete", status: 200 });
    for (const measure of ["ttftMs", "outputTokens", "tokensPerSecond"]) {
      expect(notice).not.toHaveProperty(measure);
    }
  }
});

test("a truncated response has no counts; an error or a list has no metrics", async () => {
  await using all = await startAll((response, incoming) => {
    if (incoming.method === "GET") response.end('{"usage":{"completion_tokens":4}}');
    else if (incoming.url === "/v1/embeddings") response.writeHead(400).end('{"usage":{"x":1}}');
    else {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const chunk = '{"choices":[{"delta":{"content":"Hi"}}],"usage":{"completion_tokens":1}}';
      response.write(`data: ${chunk}\n\n`, () => response.socket?.destroy());
    }
  });
  for (const head of [
    { stream: true },
    { path: "/embeddings" },
    { method: "GET", path: "/responses/resp_1" },
  ]) {
    await send(all.session, head, head.method === "GET" ? [] : undefined).closed;
  }
  await vi.waitFor(() =>
    expect(all.ana.kinds().filter((kind) => kind === "request-ended")).toHaveLength(3),
  );
  const [broken, ...others] = all.ana.notices.filter(({ kind }) => kind === "request-ended");
  expect(broken).toMatchObject({ code: "provider_disconnected", ttftMs: expect.any(Number) });
  expect(broken).not.toHaveProperty("outputTokens");
  expect(broken).not.toHaveProperty("tokensPerSecond");
  for (const notice of others) {
    expect(notice).not.toHaveProperty("ttftMs");
    expect(notice).not.toHaveProperty("outputTokens");
  }
});

for (const [bytes, framing] of [
  [100_000, "content-length"],
  [256 * 1024, "content-length"],
  [256 * 1024 + 1, "transfer-encoding"],
  [5_000_000, "transfer-encoding"],
] as const) {
  test(`a body of ${bytes} bytes arrives whole, framed by ${framing}`, async () => {
    await using all = await startAll((response, _incoming, body) =>
      response.end(String(body.length)),
    );
    const exchange = send(all.session, {}, [Buffer.alloc(bytes, 97)]);
    await exchange.closed;
    expect(exchange.body).toBe(String(bytes));
    expect(all.model.requests[0]?.headers[framing]).toBeDefined();
  });
}

test("concurrent requests each get their own response", async () => {
  await using all = await startAll((response, _incoming, body) => {
    setImmediate(() => response.end(body));
  });
  const exchange = Array.from({ length: 40 }, (_, index) =>
    send(all.session, {}, [Buffer.from(`body ${index}`)]),
  );
  await Promise.all(exchange.map((one) => one.closed));
  expect(exchange.map((one) => one.body)).toEqual(exchange.map((_, index) => `body ${index}`));
});

test("a request without a body is sent without one", async () => {
  await using all = await startAll((response) => response.end("{}"));
  const exchange = send(all.session, { method: "GET", path: "/responses/resp_1" }, []);
  await exchange.closed;
  expect(all.model.requests[0]).toMatchObject({
    method: "GET",
    url: "/v1/responses/resp_1",
    body: "",
  });
  expect(all.model.requests[0]?.headers["transfer-encoding"]).toBeUndefined();
});

for (const [method, path] of [
  ["POST", "/api/delete"],
  ["POST", "/chat/completions?x=1"],
  ["GET", "/models/../../api/tags"],
  ["DELETE", "/models/llama3"],
] as const) {
  test(`${method} ${path} is refused and reaches no provider`, async () => {
    await using all = await startAll((response) => response.end("{}"));
    const exchange = send(all.session, { method, path });
    await exchange.closed;
    expect(exchange.log[0]).toMatch(new RegExp(`^reset ${RESET_CODES.refused} `));
    expect(all.model.requests).toEqual([]);
    expect(all.ana.notices.at(-1)).toMatchObject({
      kind: "request-ended",
      outcome: "refused",
      code: "refused",
    });
    const next = send(all.session);
    await next.closed;
    expect(next.status).toBe(200);
  });
}

test("a cancel closes the provider's socket, and is confirmed only then", async () => {
  const responses: ServerResponse[] = [];
  await using all = await startAll((response) => {
    responses.push(response);
    response.write("data: 1\n\n");
  });
  const exchange = send(all.session, { stream: true });
  await exchange.head;
  const closed = once(responses[0]!, "close");
  let isClosed = false;
  void closed.then(() => (isClosed = true));
  exchange.stream.reset(RESET_CODES.cancelled, "client disconnected");
  await exchange.closed;
  await vi.waitFor(() => expect(isClosed).toBe(true));
  expect(exchange.log).toEqual(["head", "closed"]);
  expect(all.ana.notices.at(-1)).toMatchObject({
    outcome: "cancelled",
    code: "cancelled",
    reason: "client disconnected",
  });
});

test("a cancel before the provider responds, or during the request body, is confirmed too", async () => {
  await using all = await startAll(() => {});
  const waiting = send(all.session);
  await vi.waitFor(() => expect(all.model.requests).toHaveLength(1));
  const uploading = send(all.session, {}, [Buffer.alloc(2_000_000)]);
  for (const exchange of [waiting, uploading]) {
    exchange.stream.reset(RESET_CODES.cancelled, "");
    await exchange.closed;
    expect(exchange.log).toEqual(["closed"]);
  }
});

test("a lost tunnel cancels running requests", async () => {
  const responses: ServerResponse[] = [];
  await using all = await startAll((response) => {
    responses.push(response);
    response.write("data: 1\n\n");
  });
  const exchange = send(all.session, { stream: true });
  await exchange.head;
  const closed = once(responses[0]!, "close");
  for (const request of all.hub.upgrades) request.socket.destroy();
  await closed;
  await vi.waitFor(() =>
    expect(all.ana.notices).toContainEqual(expect.objectContaining({ outcome: "cancelled" })),
  );
});

test("a reader that stops pauses the provider until it reads on", async () => {
  const total = 64 * 1024 * 1024;
  const piece = Buffer.alloc(64 * 1024, 98);
  let written = 0;
  await using all = await startAll((response) => {
    const pump = () => {
      while (written < total) {
        written += piece.length;
        if (response.write(piece)) continue;
        response.once("drain", pump);
        return;
      }
      response.end();
    };
    pump();
  });
  const exchange = send(all.session, { stream: true });
  exchange.isReading = false;
  await exchange.head;
  const other = send(all.session, { method: "GET", path: "/models" }, []);
  await other.closed;
  expect(other.status).toBe(200);
  let before = -1;
  await vi.waitFor(
    () => {
      const isStalled = before === written;
      before = written;
      expect(isStalled).toBe(true);
    },
    { interval: 80, timeout: 4_000 },
  );
  expect(exchange.body.length).toBeLessThanOrEqual(64 * 1024);
  expect(written).toBeLessThan(32 * 1024 * 1024);
  exchange.isReading = true;
  exchange.stream.resume();
  await exchange.closed;
  expect(exchange.body).toHaveLength(total);
  expect(exchange.log).toEqual(["head", "end", "closed"]);
});

const failures: Record<string, [respond: (response: ServerResponse) => void, code: number]> = {
  "closes without a response": [
    (response) => response.socket?.destroy(),
    RESET_CODES.providerDisconnected,
  ],
  "sends garbage": [
    (response) => response.socket?.end("garbage\r\n\r\n"),
    RESET_CODES.providerInvalidResponse,
  ],
  "closes in the middle": [
    (response) => {
      response.write("data: 1\n\n", () => response.socket?.destroy());
    },
    RESET_CODES.providerDisconnected,
  ],
};
for (const [what, [respond, code]] of Object.entries(failures)) {
  test(`a provider that ${what} becomes RESET ${code}, and the tunnel lives on`, async () => {
    let isBroken = true;
    await using all = await startAll((response) => {
      if (isBroken) respond(response);
      else response.end("{}");
    });
    const exchange = send(all.session);
    await exchange.closed;
    expect(exchange.log.at(-2)).toMatch(new RegExp(`^reset ${code} 127\\.0\\.0\\.1:\\d+ `));
    isBroken = false;
    const next = send(all.session);
    await next.closed;
    expect(next.status).toBe(200);
  });
}

test("an unreachable provider causes RESET providerUnreachable and status down", async () => {
  await using all = await startAll((response) => response.end("{}"));
  await all.model.close();
  const exchange = send(all.session);
  await exchange.closed;
  expect(exchange.log[0]).toMatch(
    new RegExp(`^reset ${RESET_CODES.providerUnreachable} .*refused`),
  );
  await vi.waitFor(() => expect(all.hub.statuses.at(-1)?.ready).toBe(false));
});

const ownKey = "very-secret-key";
const handedKey = "handed-over-key";
const credentials = {
  headers: { authorization: `Bearer ${ownKey}` },
  authHeaders: { "x-handed-key": handedKey },
};
/** As a model server would say it: the credentials it was sent. */
const repeated = `${ownKey} ${handedKey}`;
const covered = repeated.replaceAll(/[^ ]/g, "*");

const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };
const repeating: Record<string, [status: number, headers: Record<string, string>, body: string]> = {
  "a refusal": [400, json, `{"error":{"message":"bad key ${repeated}"}}`],
  "a refusal longer than the read limit": [500, json, `${repeated}${"x".repeat(300_000)}`],
  "a page": [404, { "content-type": "text/html" }, `<html>${repeated}</html>`],
  "an error that says 200": [200, json, `{"error":"bad key ${repeated}"}`],
  "a response": [200, json, `{"choices":["${repeated}"],"error":null}`],
  "a long response": [200, json, `{"choices":["${repeated}${"x".repeat(300_000)}${repeated}"]}`],
  "a response of no type": [200, {}, repeated],
  "an error in a stream": [200, events, `data: {"error":{"message":"bad key ${repeated}"}}\n\n`],
  "the content of a stream": [200, events, `data: {"choices":["${repeated}"]}\n\ndata: [DONE]\n\n`],
  "the headers of a response": [200, { ...json, "x-ratelimit-key": repeated }, "{}"],
  "the headers of a refusal": [429, { ...json, "retry-after": repeated }, "{}"],
};
test.each(Object.entries(repeating))(
  "%s is sent without the credentials it repeats, and is otherwise unchanged",
  async (_what, [status, headers, body]) => {
    await using all = await startAll(
      (response) => response.writeHead(status, headers).end(body),
      credentials,
    );
    const exchange = send(all.session);
    await exchange.closed;
    expect(exchange).toMatchObject({ status, log: ["head", "end", "closed"] });
    expect(exchange.body).toBe(body.replaceAll(repeated, covered));
    const values = Object.entries(headers).map(([name, value]) => [
      name,
      value.replaceAll(repeated, covered),
    ]);
    expect(exchange.headers).toEqual(Object.fromEntries(values));
    expect(all.ana.notices.at(-1)).toMatchObject({
      kind: "request-ended",
      outcome: status < 400 ? "complete" : "failed",
    });
  },
);

test("a translated response does not contain credentials that the chat response repeats", async () => {
  await using all = await startAll((response, incoming) => {
    if (incoming.url === "/v1/responses") return void response.writeHead(404).end();
    const message = { role: "assistant", content: `it is ${ownKey}` };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    response.writeHead(200, json).end(JSON.stringify({ object: "chat.completion", choices }));
  }, credentials);
  const body = [Buffer.from('{"model":"m","input":"hello"}')];
  const exchange = send(all.session, { path: "/responses", protocol: "responses" }, body);
  await exchange.closed;
  expect(exchange.body).toContain(`"text":"it is ${"*".repeat(ownKey.length)}"`);
});

test("a credential split across chunks is overwritten; a partial match is sent in the end", async () => {
  const talk = async (response: ServerResponse) => {
    response.writeHead(200, events);
    response.write("data: a very-");
    await vi.waitFor(() => expect(exchange.body).toBe("data: a "));
    response.write("secret-key\n\ndata: very-secret");
    await vi.waitFor(() => expect(exchange.body).toBe("data: a ***************\n\ndata: "));
    response.end();
  };
  await using all = await startAll((response) => void talk(response), credentials);
  const exchange = send(all.session, { stream: true });
  await exchange.closed;
  expect(exchange.body).toBe("data: a ***************\n\ndata: very-secret");
  expect(exchange.log).toEqual(["head", "end", "closed"]);
});

test.each([
  ["is too short for a credential leaves as it came", "very", "very"],
  ["may be most of a credential leaves overwritten", "very-secret-ke", "**************"],
])("a truncated response with an end that %s", async (_what, end, left) => {
  const talk = async (response: ServerResponse) => {
    response.writeHead(200, events);
    response.write(`data: ${end}`);
    await vi.waitFor(() => expect(exchange.body).toBe("data: "));
    response.socket?.destroy();
  };
  await using all = await startAll((response) => void talk(response), credentials);
  const exchange = send(all.session, { stream: true });
  await exchange.closed;
  expect(exchange.body).toBe(`data: ${left}`);
  expect(exchange.log[1]).toMatch(new RegExp(`^reset ${RESET_CODES.providerDisconnected} `));
});

test("a paused reader gets all of a scrubbed response, including the held end", async () => {
  const body = `${`${ownKey}, `.repeat(300_000)}very`;
  await using all = await startAll((response) => response.end(body), credentials);
  const exchange = send(all.session, { stream: true });
  exchange.isReading = false;
  await exchange.head;
  const other = send(all.session, { method: "GET", path: "/models" }, []);
  await other.closed;
  expect(exchange.body.length).toBeLessThanOrEqual(64 * 1024);
  exchange.isReading = true;
  exchange.stream.resume();
  await exchange.closed;
  expect(exchange.body).toHaveLength(body.length);
  expect(exchange.body === body.replaceAll(ownKey, "*".repeat(ownKey.length))).toBe(true);
  expect(exchange.log).toEqual(["head", "end", "closed"]);
});

test("a cancel while an end is held closes the provider's socket and sends nothing more", async () => {
  const responses: ServerResponse[] = [];
  await using all = await startAll((response) => {
    responses.push(response);
    response.write("data: very-secret");
  }, credentials);
  const exchange = send(all.session, { stream: true });
  await vi.waitFor(() => expect(exchange.body).toBe("data: "));
  const closed = once(responses[0]!, "close");
  exchange.stream.reset(RESET_CODES.cancelled, "client disconnected");
  await exchange.closed;
  await closed;
  expect(exchange).toMatchObject({ body: "data: ", log: ["head", "closed"] });
});

test.each([
  [200, { "x-key": "a flag" }, "it is a flag"],
  [400, { "x-key": "true" }, "it is true"],
  [200, { "anthropic-version": "2023-06-01" }, "on 2023-06-01"],
] as const)(
  "with %i, %j is not a credential, and %j is unchanged",
  async (status, headers, body) => {
    await using all = await startAll((response) => response.writeHead(status).end(body), {
      headers,
    });
    const exchange = send(all.session);
    await exchange.closed;
    expect(exchange.body).toBe(body);
  },
);

test("close drains running requests, refuses new ones, and cancels those that take too long", async () => {
  const responses: ServerResponse[] = [];
  await using all = await startAll((response) => {
    responses.push(response);
    response.write("a");
  });
  const finishing = send(all.session);
  const endless = send(all.session);
  await Promise.all([finishing.head, endless.head]);
  const closed = all.ana.participant.close({ drainMs: 200 });
  expect(all.ana.participant.state).toBe("closing");
  await vi.waitFor(() => expect(all.hub.goAways).toEqual(["leaving"]));
  const late = send(all.session);
  await late.closed;
  expect(late.log[0]).toMatch(/^reset/);
  responses[0]!.end("b");
  await finishing.closed;
  expect(finishing).toMatchObject({ body: "ab", log: ["head", "end", "closed"] });
  await closed;
  await endless.closed;
  expect(endless.log[1]).toMatch(new RegExp(`^reset ${RESET_CODES.tunnelLost}`));
  await vi.waitFor(() => expect(responses[1]!.destroyed).toBe(true));
});
