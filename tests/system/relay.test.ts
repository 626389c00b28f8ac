import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { expect, test } from "vitest";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { join, PATHS } from "../support/hub/joining.ts";
import { settled } from "../support/hub/ledger.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { postUnread, readSlowly } from "../support/clients/raw-http.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { until, within } from "../support/waiting.ts";

const mib = 1024 * 1024;
const streamed = { model: "*", stream: true, messages: userSays("go on") };

/** Bytes that no serialiser would write: odd spacing, mixed line ends, comments, unknown fields, one very long event. */
const oddStream = [
  ": a comment first\n\n",
  'data:{"choices":[{"index":0,"delta":{"role":"assistant"}}]}\r\n\r\n',
  'event: message\nid: 7\ndata:   {"choices" : [ {"delta":{"content":"\\u00e4 é 漢"}} ]}\n\n',
  `data: {"choices":[{"index":0,"delta":{"content":"${"x".repeat(300 * 1024)}"}}],"big":1e400}\n\n`,
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"extra":[12345678901234567890]}\r\r',
  "data: [DONE]\n\n",
].join("");

test.for(PATHS)(
  "a stream with a 300 KB event passes over %s byte for byte to a slow reader",
  async (path) => {
    const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "raw", bytes: Buffer.from(head + oddStream) }),
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const events = await hub.watch(code);
    const answer = await postUnread(`${hub.url}/rooms/${code}/v1/chat/completions`, streamed);
    expect(answer.statusCode).toBe(200);
    const bytes = await readSlowly(answer, 1024);
    expect(bytes.equals(Buffer.from(oddStream))).toBe(true);
    await events.next("llm.complete");
  },
);

/** Bytes that no serialiser would write: odd spacing, escapes, big numbers, unknown and repeated fields. */
const oddRequest = (model: string) =>
  `\n{ "zeta":1e400,"model"\t: ${model} ,"big":12345678901234567890,"dup":1,"dup":2,"messages":[{"role":"user",` +
  `"content":"\\u00e4 é 漢 ${"x".repeat(300 * 1024)}","unknown":{"model":"inner","k":[-0.0]}}], "n" :null}\r\n`;

test.for(PATHS)(
  "a request reaches its provider over %s byte for byte, but for the model's name",
  async (path) => {
    await using provider = await startFakeProvider({ model: "fake-model" });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const answer = await fetch(`${hub.url}/rooms/${code}/v1/chat/completions`, {
      method: "POST",
      body: oddRequest(String.raw`"\u002a"`),
    });
    await answer.text();
    const posted = provider.requests.filter((request) => request.method === "POST");
    expect(posted).toHaveLength(1);
    const expected = Buffer.from(oddRequest('"fake-model"'));
    expect(posted[0]?.body.equals(expected)).toBe(true);
  },
);

/** JSON of some megabytes, no two parts of which are the same. */
const longBodies = Array.from({ length: 6 }, (_, number) => {
  const content = randomBytes((number + 1) * 350_000).toString("base64");
  return Buffer.from(JSON.stringify({ object: "chat.completion", choices: [{ content }] }));
});

test.for(PATHS)(
  "long responses at the same time pass over %s byte for byte to slow and fast readers",
  async (path) => {
    const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
    await using provider = await startFakeProvider({
      behave: ({ json }) => ({
        kind: "raw",
        bytes: Buffer.concat([Buffer.from(head), longBodies[Number(json["seed"])] as Buffer]),
      }),
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const url = `${hub.url}/rooms/${code}/v1/chat/completions`;
    const bodies = await Promise.all(
      longBodies.map(async (_, seed) => {
        const answer = await postUnread(url, { model: "*", messages: userSays("go on"), seed });
        return readSlowly(answer, seed % 2 === 0 ? 4 * 1024 : mib);
      }),
    );
    expect(bodies.map((body, seed) => body.equals(longBodies[seed] as Buffer))).toEqual(
      longBodies.map(() => true),
    );
  },
);

test.for(PATHS)(
  "a client that does not read stops its provider over %s, and gets everything later",
  { timeout: 45_000 },
  async (path) => {
    const pieces = Array.from({ length: 1024 }, () => "y".repeat(64 * 1024));
    await using provider = await startFakeProvider({ behave: () => ({ kind: "normal", pieces }) });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const events = await hub.watch(code);
    const answer = await postUnread(`${hub.url}/rooms/${code}/v1/chat/completions`, streamed);
    const request = provider.requests.find(({ path }) => path === "/v1/chat/completions")!;

    // Stalled: the count does not change in many turns of the event loop.
    let lastCount = -1;
    let turnsAtRest = 0;
    await until(
      "the provider to stand still",
      () => {
        turnsAtRest = request.bytesSent === lastCount ? turnsAtRest + 1 : 0;
        lastCount = request.bytesSent;
        return turnsAtRest;
      },
      (turns) => turns >= 40,
    );
    // No buffer on the path holds more than the provider sent. Most of it is in the kernel's socket buffers, which grow to
    // several MiB on each connection.
    expect(request.bytesSent).toBeGreaterThan(0);
    expect(request.bytesSent).toBeLessThan(24 * mib);

    let received = 0;
    answer.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    await within(once(answer, "end"), "the response's end", 30_000);
    await settled(events, 1);
    expect(events.of("llm.complete")).toHaveLength(1);
    expect(received).toBeGreaterThan(64 * mib);
    expect(received).toBe(request.bytesSent);
  },
);
