import { RESET_CODES } from "@roomhub/tunnel";
import { expect, test, vi } from "vitest";
import { ask, startFakeHub } from "./fake-hub.fixture.ts";
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
  const asked = ask(
    ana.session,
    { headers: { "content-type": "application/json", accept: "text/event-stream" } },
    [Buffer.from('{"model":"echo"}')],
  );
  await asked.closed;
  expect(asked).toMatchObject({
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
  const asked = ask(ana.session, { method: "GET", path: "/models" }, []);
  await asked.closed;
  expect(calls).toBe(1);
});

test("each chunk of a stream is sent as it is written", async () => {
  const answer = handStream();
  await using ana = await startServing(() => {
    return new Response(answer.body, { headers: { "content-type": "text/event-stream" } });
  });
  const asked = ask(ana.session, { stream: true });
  await asked.head;
  expect(asked.body).toBe("");
  for (const [piece, soFar] of [
    ["data: 1\n\n", "data: 1\n\n"],
    ["data: 2\n\n", "data: 1\n\ndata: 2\n\n"],
  ] as const) {
    answer.write(piece);
    await vi.waitFor(() => expect(asked.body).toBe(soFar));
  }
  expect(asked.log).toEqual(["head"]);
  answer.close();
  await asked.closed;
  expect(asked.log).toEqual(["head", "end", "closed"]);
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
  const asked = ask(ana.session, {}, [Buffer.alloc(total, 97)]);
  const other = ask(ana.session, {}, [Buffer.from("x")]);
  reading.resolve();
  await Promise.all([asked.closed, other.closed]);
  expect([asked.body, other.body]).toEqual([String(total), "1"]);
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
  const asked = ask(ana.session, {}, [Buffer.alloc(3_000_000)]);
  await asked.closed;
  expect(asked.body).toBe("no");
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
  const asked = ask(ana.session, { stream: true });
  asked.isReading = false;
  await asked.head;
  await vi.waitFor(() => expect(asked.body).toHaveLength(windowBytes));
  // Whatever was under way has arrived once a whole other exchange has.
  await ask(ana.session, { method: "GET", path: "/models" }, []).closed;
  expect(written).toBeLessThan(20);
  asked.isReading = true;
  asked.stream.resume();
  await asked.closed;
  expect(asked.body).toHaveLength(pieces * piece.length);
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
  const asked = ask(ana.session);
  await vi.waitFor(() => expect(signals).toHaveLength(1));
  asked.stream.reset(RESET_CODES.cancelled, "client disconnected");
  await vi.waitFor(() => expect(signals[0]!.aborted).toBe(true));
  expect(signals[0]!.reason).toMatchObject({ name: "AbortError" });
  expect(asked.log).toEqual([]);
  finishing.resolve();
  await asked.closed;
  expect(asked.log).toEqual(["closed"]);
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
  const asked = ask(ana.session, { stream: true });
  await asked.head;
  asked.stream.reset(RESET_CODES.cancelled, "");
  await cleaning.promise;
  await ask(ana.session, { method: "GET", path: "/models" }, []).closed;
  expect(asked.log).toEqual(["head"]);
  cleaned.resolve();
  await asked.closed;
  expect(asked.log).toEqual(["head", "closed"]);
});

test("a disconnect during the request body aborts the body", async () => {
  const asking = Promise.withResolvers<void>();
  const broken = Promise.withResolvers<unknown>();
  await using ana = await startServing(async (request) => {
    asking.resolve();
    await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
    await request.text().catch(broken.resolve);
    return new Response("too late");
  });
  const asked = ask(ana.session, {}, [Buffer.alloc(3_000_000)]);
  await asking.promise;
  asked.stream.reset(RESET_CODES.cancelled, "");
  await asked.closed;
  expect(await broken.promise).toMatchObject({ name: "AbortError" });
  expect(asked.log).toEqual(["closed"]);
});

test("a lost tunnel aborts running calls", async () => {
  const aborted = Promise.withResolvers<void>();
  await using ana = await startServing(({ signal }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    return new Promise(() => {});
  });
  ask(ana.session);
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
  test(`a function ${what} costs its request, tells its owner, and goes on`, async () => {
    let isBroken = true;
    await using ana = await startServing((request) => {
      return isBroken ? serve(request) : new Response("fine");
    });
    const asked = ask(ana.session);
    await asked.closed;
    expect(asked.log).toEqual([expect.stringMatching(reset), "closed"]);
    expect(ana.notices.filter(({ kind }) => kind === "fault")).toHaveLength(1);
    expect(ana.notices).toContainEqual(
      expect.objectContaining({ kind: "request-ended", outcome: "failed" }),
    );
    isBroken = false;
    const next = ask(ana.session);
    await next.closed;
    expect(next.body).toBe("fine");
  });
}

test("a stream that fails or yields strings never ends cleanly", async () => {
  const answer = handStream();
  const texts = new ReadableStream({
    start(controller) {
      controller.enqueue("data: 1\n\n");
      controller.close();
    },
  });
  const bodies = [answer.body, texts];
  await using ana = await startServing(() => new Response(bodies.shift()));
  const breaking = ask(ana.session, { stream: true });
  await breaking.head;
  answer.write("data: 1\n\n");
  await vi.waitFor(() => expect(breaking.body).toBe("data: 1\n\n"));
  answer.fail(new Error("out of memory"));
  await breaking.closed;
  expect(breaking.log).toEqual(["head", "reset 8 serve() threw: out of memory", "closed"]);
  const typed = ask(ana.session, { stream: true });
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
  const asked = ask(ana.session, { path: "/responses" }, [
    Buffer.from('{"model":"echo","input":"hi"}'),
  ]);
  await asked.closed;
  expect(JSON.parse(asked.body)).toMatchObject({
    object: "response",
    output: [{ content: [{ type: "output_text", text: "hello" }] }],
  });
  expect(paths).toEqual(["/v1/responses", "/v1/chat/completions"]);
});
