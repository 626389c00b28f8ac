import { RESET_CODES } from "@roomhub/tunnel";
import { expect, test, vi } from "vitest";
import { send, startFakeHub } from "./fake-hub.fixture.ts";
import { callFunction, FUNCTION_ENDPOINT, type ServeFunction } from "./function-call.ts";
import type { ParticipantNotice } from "./notice.ts";
import { createParticipant } from "./participant.ts";

const windowBytes = 64 * 1024;

/** A participant that is this function, at a hub that gives it {@link windowBytes} of credit per stream. */
async function startServing(serve: ServeFunction) {
  const hub = await startFakeHub();
  const notices: ParticipantNotice[] = [];
  const participant = createParticipant({
    hubUrl: hub.url,
    room: "ABC234",
    id: "ana",
    nickname: "Ana",
    model: "echo",
    serve,
    onNotice: (notice) => notices.push(notice),
    env: {},
    timing: { tickMs: 10, drainMs: 0, leaveMs: 500 },
  });
  const opened = hub.nextSession();
  await participant.start();
  return {
    hub,
    notices,
    session: await opened,
    async [Symbol.asyncDispose]() {
      await participant.close({ drainMs: 0 });
      await hub.close();
    },
  };
}

/** A stream that is written to by hand. */
function handStream() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  return {
    body,
    write: (text: string) => controller?.enqueue(new TextEncoder().encode(text)),
    close: () => controller?.close(),
    fail: (error: Error) => controller?.error(error),
  };
}

test("a function gets each request as a web Request and returns a Response", async () => {
  const seen: Request[] = [];
  await using ana = await startServing(async (request) => {
    seen.push(request);
    return Response.json({ echo: await request.json() }, { headers: { "x-own": "stays" } });
  });
  const exchange = send(
    ana.session,
    { headers: { "content-type": "application/json", accept: "text/event-stream" } },
    [Buffer.from('{"model":"echo"}')],
  );
  await exchange.closed;
  expect(exchange).toMatchObject({
    status: 200,
    headers: { "content-type": "application/json" },
    body: '{"echo":{"model":"echo"}}',
    log: ["head", "end", "closed"],
  });
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({
    method: "POST",
    url: "http://function.invalid/v1/chat/completions",
  });
  expect(seen[0]!.headers.get("accept")).toBe("text/event-stream");
});

test("a function is listed with an unreachable endpoint and gets only client requests", async () => {
  let calls = 0;
  await using ana = await startServing(() => {
    calls += 1;
    return new Response("{}");
  });
  const join = ana.hub.calls.find(({ url }) => url.endsWith("/join"));
  expect(JSON.parse(join!.body)).toMatchObject({
    endpoint: "http://function.invalid/v1",
    transport: "tunnel",
  });
  expect(ana.hub.statuses.at(-1)).toEqual({ ready: true, readiness: "ready" });
  const exchange = send(ana.session, { method: "GET", path: "/models" }, []);
  await exchange.closed;
  expect(calls).toBe(1);
});

test("each chunk of a stream is sent as it is written", async () => {
  const respond = handStream();
  await using ana = await startServing(() => {
    return new Response(respond.body, { headers: { "content-type": "text/event-stream" } });
  });
  const exchange = send(ana.session, { stream: true });
  await exchange.head;
  expect(exchange.body).toBe("");
  for (const [piece, soFar] of [
    ["data: 1\n\n", "data: 1\n\n"],
    ["data: 2\n\n", "data: 1\n\ndata: 2\n\n"],
  ] as const) {
    respond.write(piece);
    await vi.waitFor(() => expect(exchange.body).toBe(soFar));
  }
  expect(exchange.log).toEqual(["head"]);
  respond.close();
  await exchange.closed;
  expect(exchange.log).toEqual(["head", "end", "closed"]);
});

test("a long request body is streamed at the pace of the function", async () => {
  const total = 4 * 1024 * 1024;
  const reading = Promise.withResolvers<void>();
  await using ana = await startServing(async (request) => {
    await reading.promise;
    let bytes = 0;
    for await (const chunk of request.body ?? []) bytes += (chunk as Uint8Array).length;
    return new Response(String(bytes));
  });
  const exchange = send(ana.session, {}, [Buffer.alloc(total, 97)]);
  const other = send(ana.session, {}, [Buffer.from("x")]);
  reading.resolve();
  await Promise.all([exchange.closed, other.closed]);
  expect([exchange.body, other.body]).toEqual([String(total), "1"]);
});

test.each<[string, (body: ReadableStream<Uint8Array>) => Promise<unknown>]>([
  ["reads on", (body) => body.getReader().read()],
  ["cancels it", (body) => body.cancel()],
])("a request body pauses at 256 KiB until the function %s", async (_what, goOn) => {
  const serving = Promise.withResolvers<Request>();
  const drained = Promise.withResolvers<void>();
  const call = callFunction(
    (request) => {
      serving.resolve(request);
      return new Promise(() => {});
    },
    () => {},
  )(
    { baseUrl: FUNCTION_ENDPOINT, method: "POST", path: "/x", headers: {}, body: "streamed" },
    {
      onHead() {},
      onData: () => true,
      onEnd() {},
      onFailure() {},
      onClosed() {},
      onBodyDrain: () => drained.resolve(),
    },
  );
  expect(call.writeBody(Buffer.alloc(256 * 1024 - 1))).toBe(true);
  expect(call.writeBody(Buffer.alloc(1))).toBe(false);
  const { body } = await serving.promise;
  await goOn(body!);
  await drained.promise;
  expect(call.writeBody(Buffer.alloc(1))).toBe(true);
  call.cancel();
});

test("a function may respond without reading the request body", async () => {
  await using ana = await startServing(() => new Response("no"));
  const exchange = send(ana.session, {}, [Buffer.alloc(3_000_000)]);
  await exchange.closed;
  expect(exchange.body).toBe("no");
});

test("a client that stops reading pauses the function's stream until it reads on", async () => {
  const piece = new Uint8Array(16 * 1024);
  const pieces = 200;
  let written = 0;
  await using ana = await startServing(({ method }) => {
    if (method === "GET") return new Response("{}");
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (written === pieces) return controller.close();
        written += 1;
        controller.enqueue(piece.slice());
      },
    });
    return new Response(body);
  });
  const exchange = send(ana.session, { stream: true });
  exchange.isReading = false;
  await exchange.head;
  await vi.waitFor(() => expect(exchange.body).toHaveLength(windowBytes));
  // Whatever was under way has arrived once a whole other exchange has.
  await send(ana.session, { method: "GET", path: "/models" }, []).closed;
  expect(written).toBeLessThan(20);
  exchange.isReading = true;
  exchange.stream.resume();
  await exchange.closed;
  expect(exchange.body).toHaveLength(pieces * piece.length);
  expect(written).toBe(pieces);
});

test("a disconnecting client aborts request.signal, and the cancel is confirmed once the function has returned", async () => {
  const finishing = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  await using ana = await startServing(async ({ signal }) => {
    signals.push(signal);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await finishing.promise;
    throw signal.reason as Error;
  });
  const exchange = send(ana.session);
  await vi.waitFor(() => expect(signals).toHaveLength(1));
  exchange.stream.reset(RESET_CODES.cancelled, "client disconnected");
  await vi.waitFor(() => expect(signals[0]!.aborted).toBe(true));
  expect(signals[0]!.reason).toMatchObject({ name: "AbortError" });
  expect(exchange.log).toEqual([]);
  finishing.resolve();
  await exchange.closed;
  expect(exchange.log).toEqual(["closed"]);
  expect(ana.notices.at(-1)).toMatchObject({ kind: "request-ended", outcome: "cancelled" });
  expect(ana.notices.filter(({ kind }) => kind === "fault")).toEqual([]);
});

test("a disconnect mid-stream cancels the response stream, and the cancel is confirmed after its end", async () => {
  const cleaning = Promise.withResolvers<void>();
  const cleaned = Promise.withResolvers<void>();
  await using ana = await startServing(({ method }) => {
    if (method === "GET") return new Response("{}");
    const cancel = () => {
      cleaning.resolve();
      return cleaned.promise;
    };
    return new Response(new ReadableStream({ cancel }));
  });
  const exchange = send(ana.session, { stream: true });
  await exchange.head;
  exchange.stream.reset(RESET_CODES.cancelled, "");
  await cleaning.promise;
  await send(ana.session, { method: "GET", path: "/models" }, []).closed;
  expect(exchange.log).toEqual(["head"]);
  cleaned.resolve();
  await exchange.closed;
  expect(exchange.log).toEqual(["head", "closed"]);
});

test("a disconnect during the request body aborts the body", async () => {
  const calling = Promise.withResolvers<void>();
  const broken = Promise.withResolvers<unknown>();
  await using ana = await startServing(async (request) => {
    calling.resolve();
    await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
    await request.text().catch(broken.resolve);
    return new Response("too late");
  });
  const exchange = send(ana.session, {}, [Buffer.alloc(3_000_000)]);
  await calling.promise;
  exchange.stream.reset(RESET_CODES.cancelled, "");
  await exchange.closed;
  expect(await broken.promise).toMatchObject({ name: "AbortError" });
  expect(exchange.log).toEqual(["closed"]);
});

test("a lost tunnel aborts running calls", async () => {
  const aborted = Promise.withResolvers<void>();
  await using ana = await startServing(({ signal }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    return new Promise(() => {});
  });
  send(ana.session);
  await vi.waitFor(() => expect(ana.notices.map(({ kind }) => kind)).toContain("request-started"));
  for (const request of ana.hub.upgrades) request.socket.destroy();
  await aborted.promise;
});

const faults: Record<string, [serve: ServeFunction, reset: RegExp]> = {
  "that throws": [
    () => {
      throw new Error("no GPU today\n    at secret/path.ts");
    },
    /^reset 8 serve\(\) threw: no GPU today$/,
  ],
  "that rejects with a key in its message": [
    () => Promise.reject(new Error("bad key sk-1234567890abcdef")),
    /^reset 8 serve\(\) threw: bad key \[redacted\]$/,
  ],
  "that throws nothing in particular": [
    () => {
      throw new Error("");
    },
    /^reset 8 serve\(\) threw\.$/,
  ],
  "that returns nothing": [
    () => undefined as unknown as Response,
    /^reset 5 serve\(\) did not return a Response\.$/,
  ],
  "that returns a network error": [
    () => Response.error(),
    /^reset 5 serve\(\) did not return a Response\.$/,
  ],
};
for (const [what, [serve, reset]] of Object.entries(faults)) {
  test(`a function ${what} costs its request, is reported to its owner, and goes on`, async () => {
    let isBroken = true;
    await using ana = await startServing((request) => {
      return isBroken ? serve(request) : new Response("fine");
    });
    const exchange = send(ana.session);
    await exchange.closed;
    expect(exchange.log).toEqual([expect.stringMatching(reset), "closed"]);
    expect(ana.notices.filter(({ kind }) => kind === "fault")).toHaveLength(1);
    expect(ana.notices).toContainEqual(
      expect.objectContaining({ kind: "request-ended", outcome: "failed" }),
    );
    isBroken = false;
    const next = send(ana.session);
    await next.closed;
    expect(next.body).toBe("fine");
  });
}

test("a stream that fails or yields strings never ends cleanly", async () => {
  const respond = handStream();
  const texts = new ReadableStream({
    start(controller) {
      controller.enqueue("data: 1\n\n");
      controller.close();
    },
  });
  const bodies = [respond.body, texts];
  await using ana = await startServing(() => new Response(bodies.shift()));
  const breaking = send(ana.session, { stream: true });
  await breaking.head;
  respond.write("data: 1\n\n");
  await vi.waitFor(() => expect(breaking.body).toBe("data: 1\n\n"));
  respond.fail(new Error("out of memory"));
  await breaking.closed;
  expect(breaking.log).toEqual(["head", "reset 8 serve() threw: out of memory", "closed"]);
  const typed = send(ana.session, { stream: true });
  await typed.closed;
  expect(typed.log.at(-2)).toMatch(/^reset 5 .*TextEncoderStream/);
});

test("a function without /responses gets them translated to chat", async () => {
  const paths: string[] = [];
  await using ana = await startServing((request) => {
    const { pathname } = new URL(request.url);
    paths.push(pathname);
    if (pathname !== "/v1/chat/completions") return new Response(null, { status: 404 });
    const message = { role: "assistant", content: "hello" };
    return Response.json({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "echo",
      choices: [{ index: 0, message, finish_reason: "stop" }],
    });
  });
  const exchange = send(ana.session, { path: "/responses" }, [
    Buffer.from('{"model":"echo","input":"hi"}'),
  ]);
  await exchange.closed;
  expect(JSON.parse(exchange.body)).toMatchObject({
    object: "response",
    output: [{ content: [{ type: "output_text", text: "hello" }] }],
  });
  expect(paths).toEqual(["/v1/responses", "/v1/chat/completions"]);
});
