import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { joinDirect, join, PATHS } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startRecordedWhisper, whisperTranscript } from "../support/providers/recorded-whisper.ts";
import { readRecording } from "../support/providers/recording.ts";
import { until } from "../support/waiting.ts";

interface Sent {
  path: string;
  type: string | undefined;
  body: string;
}

type Serve = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** A model server that lists its paths. */
async function startServer(paths: Record<string, Serve>) {
  const sent: Sent[] = [];
  const listed = Object.fromEntries(Object.keys(paths).map((path) => [path, {}]));
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const path = request.url ?? "";
      const json = (status: number, value: object) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify(value));
      };
      if (path === "/v1/models") return json(200, { object: "list", data: [{ id: "m" }] });
      if (path === "/openapi.json") return json(200, { paths: listed });
      const serve = paths[path];
      if (serve === undefined) return json(404, { detail: "Not Found" });
      const body = Buffer.concat(parts);
      const type = request.headers["content-type"];
      sent.push({ path, type, body: body.toString("latin1") });
      serve(request, response, body);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const respond =
  (type: string, body: string | Buffer): Serve =>
  (_request, response) => {
    response.writeHead(200, { "content-type": type });
    response.end(body);
  };

const sound = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 31) % 256));
const speechEvents = [
  { type: "speech.audio.delta", audio: "AAAA" },
  { type: "speech.audio.done", usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
];
const sse = (events: readonly object[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

const ranking = { id: "r1", results: [{ index: 0, relevance_score: 0.9 }] };

function untilListed(hub: TestHub, code: string, name: string, value: string, id?: string) {
  return until(
    `${name} ${value}`,
    () => hub.client.listParticipants(code),
    (all) =>
      all.some((one) => (id === undefined || one.id === id) && one.capabilities[name] === value),
  );
}

test("sound of as many bytes as mediaResponseBytes passes, one byte more does not", async () => {
  await using server = await startServer({ "/v1/audio/speech": respond("audio/mpeg", sound) });
  for (const [mediaResponseBytes, passes] of [
    [sound.length, true],
    [sound.length - 1, false],
  ] as const) {
    await using hub = await startTestHub({ limits: { mediaResponseBytes } });
    const code = await hub.createRoom();
    await joinDirect(hub, code, { model: "m", endpoint: server.url });
    const json = { model: "*", input: "hello" };
    const reading = hub
      .fetch(`/rooms/${code}/v1/audio/speech`, { json })
      .then(async (response) => (await response.arrayBuffer()).byteLength)
      .catch(() => "broken");
    expect(await reading).toBe(passes ? sound.length : "broken");
  }
});

describe.each(PATHS)("over %s", (path) => {
  test("sound passes byte for byte, with the model's own name in the request", async () => {
    await using server = await startServer({ "/v1/audio/speech": respond("audio/mpeg", sound) });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const events = await hub.watch(code);
    await untilListed(hub, code, "audioSpeech", "supported");
    const json = { model: "*", input: "hello", voice: "alloy" };
    const response = await hub.fetch(`/rooms/${code}/v1/audio/speech`, { json });
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    expect(Buffer.from(await response.arrayBuffer()).equals(sound)).toBe(true);
    expect(server.sent).toMatchObject([
      { path: "/v1/audio/speech", body: '{"model":"m","input":"hello","voice":"alloy"}' },
    ]);
    const { data } = await events.next("llm.complete");
    expect(data).toMatchObject({
      protocol: "audioSpeech",
      metrics: { ttftMs: expect.any(Number) },
    });
  });

  test("speech that breaks off never ends cleanly", async () => {
    const cut: Serve = (_request, response) => {
      response.writeHead(200, { "content-type": "audio/mpeg" });
      response.write(sound.subarray(0, 1_000), () => response.destroy());
    };
    await using server = await startServer({ "/v1/audio/speech": cut });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const events = await hub.watch(code);
    const json = { model: "*", input: "hello" };
    const response = await hub.fetch(`/rooms/${code}/v1/audio/speech`, { json });
    await expect(response.arrayBuffer()).rejects.toThrow();
    const { data } = await events.next("llm.error");
    expect(data).toMatchObject({ code: "provider_disconnected", protocol: "audioSpeech" });
  });

  test("the response says whether speech is a stream, and nothing is added to it", async () => {
    const stream = respond("text/event-stream", sse(speechEvents));
    await using server = await startServer({ "/v1/audio/speech": stream });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const events = await hub.watch(code);
    const json = { model: "*", input: "hello", stream_format: "sse" };
    const response = await hub.fetch(`/rooms/${code}/v1/audio/speech`, { json });
    expect(await response.text()).toBe(sse(speechEvents));
    const { data } = await events.next("llm.complete");
    expect(data).toMatchObject({ metrics: { inputTokens: 3, outputTokens: 4 } });
  });

  test("a stream of speech without its terminal event ends with an error", async () => {
    const stream = respond("text/event-stream", sse(speechEvents.slice(0, 1)));
    await using server = await startServer({ "/v1/audio/speech": stream });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const json = { model: "*", input: "hello", stream_format: "sse" };
    const text = await (await hub.fetch(`/rooms/${code}/v1/audio/speech`, { json })).text();
    expect(text).toContain('event: error\ndata: {"type":"error","error":{');
    expect(text).not.toContain("[DONE]");
  });

  test.each([
    ["first", ["model", "file"]],
    ["last", ["file", "model"]],
  ])(
    "a form with its model %s arrives with the model's own name alone changed",
    async (_where, order) => {
      const said = { text: "hello", usage: { type: "duration", seconds: 7.5 } };
      const hear = respond("application/json", JSON.stringify(said));
      await using server = await startServer({ "/v1/audio/transcriptions": hear });
      await using hub = await startTestHub();
      const code = await hub.createRoom();
      await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
      await untilListed(hub, code, "audioTranscriptions", "supported");
      const events = await hub.watch(code);
      const body = new FormData();
      for (const name of order) {
        if (name === "model") body.append(name, "model:m");
        else body.append(name, new Blob([sound]), "a.wav");
      }
      const sent = new Request("http://localhost", { method: "POST", body });
      const bytes = Buffer.from(await sent.arrayBuffer());
      const type = sent.headers.get("content-type") ?? "";
      const response = await hub.fetch(`/rooms/${code}/v1/audio/transcriptions`, {
        ...{ method: "POST", body: bytes, headers: { "content-type": type } },
      });
      expect(await response.json()).toEqual(said);
      expect(server.sent[0]?.type).toBe(type);
      expect(server.sent[0]?.body).toBe(bytes.toString("latin1").replace("model:m", "m"));
      const { data } = await events.next("llm.complete");
      expect(data).toMatchObject({
        protocol: "audioTranscriptions",
        metrics: { audioSeconds: 7.5 },
      });
    },
  );

  test.each([
    ["text/vtt", "text/vtt"],
    ["text/html; charset=utf-8", "text/plain; charset=utf-8"],
  ])("a transcript as %s passes as %s", async (theirs, ours) => {
    const text = "WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n";
    await using server = await startServer({ "/v1/audio/translations": respond(theirs, text) });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const body = new FormData();
    body.append("model", "*");
    body.append("file", new Blob([sound]), "a.wav");
    const response = await fetch(`${hub.url}/rooms/${code}/v1/audio/translations`, {
      ...{ method: "POST", body },
    });
    expect(response.headers.get("content-type")).toBe(ours);
    expect(await response.text()).toBe(text);
  });

  test("pictures are counted", async () => {
    const pictures = { created: 1, data: [{ b64_json: "AAAA" }, { b64_json: "BBBB" }] };
    const paint = respond("application/json", JSON.stringify(pictures));
    await using server = await startServer({ "/v1/images/generations": paint });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const events = await hub.watch(code);
    const json = { model: "*", prompt: "a hub", n: 2 };
    const response = await hub.fetch(`/rooms/${code}/v1/images/generations`, { json });
    expect(await response.json()).toEqual(pictures);
    const { data } = await events.next("llm.complete");
    expect(data).toMatchObject({ protocol: "imageGenerations", metrics: { images: 2 } });
  });

  test.each([
    ["has it", ["/v1/rerank", "/v2/rerank"], "/v2/rerank"],
    ["does not have it", ["/v1/rerank"], "/v1/rerank"],
  ])("version 2 of reranking goes to a server that %s", async (_what, paths, expected) => {
    const rank = respond("application/json", JSON.stringify(ranking));
    await using server = await startServer(Object.fromEntries(paths.map((one) => [one, rank])));
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    await untilListed(hub, code, "rerank", "supported");
    const json = { model: "*", query: "q", documents: ["a"] };
    const response = await hub.fetch(`/rooms/${code}/v2/rerank`, { json });
    expect(await response.json()).toEqual(ranking);
    expect(server.sent.map((one) => one.path)).toEqual([expected]);
  });
});

describe.each(PATHS)("whisper.cpp, over %s", (path) => {
  test.each(["/inference", "/v1/audio/transcriptions"])(
    "transcribes at %s, in each of its formats",
    async (inferencePath) => {
      await using server = await startRecordedWhisper(inferencePath);
      await using hub = await startTestHub();
      const code = await hub.createRoom();
      await using _ada = await join(path, hub, code, { model: "whisper", endpoint: server.url });
      await untilListed(hub, code, "audioTranscriptions", "supported");
      const types: Record<string, string> = {};
      for (const format of ["json", "verbose_json", "text", "srt", "vtt"]) {
        const response = await sendSound(hub, code, "transcriptions", { response_format: format });
        expect(await response.text()).toBe(whisperTranscript(format));
        types[format] = response.headers.get("content-type") ?? "";
      }
      expect(types).toEqual({
        json: "application/json",
        verbose_json: "application/json",
        text: "text/plain; charset=utf-8",
        srt: "application/x-subrip",
        vtt: "text/vtt",
      });
      expect(server.forms[0]).toContain("whisper");
      const chat = { model: "*", messages: [{ role: "user", content: "hi" }] };
      const refused = await hub.fetch(`/rooms/${code}/v1/chat/completions`, { json: chat });
      expect(refused.status).toBe(400);
    },
  );

  test.each([
    [1_000, ""],
    [2_000_000, "/inference"],
  ])("translates %s bytes at the same path, with the endpoint URL%s", async (length, at) => {
    await using server = await startRecordedWhisper();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const endpoint = server.url + at;
    await using _ada = await join(path, hub, code, { model: "whisper", endpoint });
    await untilListed(hub, code, "audioTranslations", "supported");
    const response = await sendSound(hub, code, "translations", {}, Buffer.alloc(length, 1));
    expect(await response.text()).toBe(whisperTranscript("translated"));
    const parts = server.forms[0]?.split(/^--.*\r\n/m).map((part) => part.split("\r\n\r\n"));
    expect(parts?.slice(1).map(([head]) => head)).toEqual([
      'Content-Disposition: form-data; name="translate"',
      'Content-Disposition: form-data; name="model"',
      expect.stringContaining('name="file"'),
      "",
    ]);
    expect(parts?.[3]?.[1]).toHaveLength(length + "\r\n".length);
  });

  test("refuses a form without a file in its own words", async () => {
    await using server = await startRecordedWhisper();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "whisper", endpoint: server.url });
    await untilListed(hub, code, "audioTranscriptions", "supported");
    const body = new FormData();
    body.set("model", "*");
    const url = `/rooms/${code}/v1/audio/transcriptions`;
    const refused = await hub.fetch(url, { method: "POST", body });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { message: "Invalid request" } });
  });
});

/** As a llama-server 0.7.0 responds. */
const replay =
  (name: string): Serve =>
  (_request, response) => {
    const { status, headers, body } = readRecording(`llama.cpp/${name}`);
    response.writeHead(status, headers).end(body);
  };

describe.each(PATHS)("what a llama-server responds, over %s", (path) => {
  test("to a transcription passes byte for byte, the end of its stream included", async () => {
    const transcribe: Serve = (request, response, form) =>
      replay(form.includes('name="stream"') ? "transcription-stream" : "transcription")(
        request,
        response,
        form,
      );
    await using server = await startServer({ "/v1/audio/transcriptions": transcribe });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    const events = await hub.watch(code);
    await untilListed(hub, code, "audioTranscriptions", "supported");
    for (const [name, fields] of [
      ["transcription", {}],
      ["transcription-stream", { stream: "true" }],
    ] as const) {
      const { body, headers } = readRecording(`llama.cpp/${name}`);
      const response = await sendSound(hub, code, "transcriptions", fields);
      expect(await response.text()).toBe(body.toString());
      expect(response.headers.get("content-type")).toBe(headers["content-type"]);
      const { data } = await events.next("llm.complete");
      expect(data).toMatchObject({ metrics: { inputTokens: 192, outputTokens: 4 } });
    }
  });

  test.each([
    ["rerank", 200],
    ["rerank-off", 400],
  ])("to a request to rerank is what clients of version 2 get: %s", async (name, status) => {
    await using server = await startServer({ "/v1/rerank": replay(name) });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { model: "m", endpoint: server.url });
    await untilListed(hub, code, "rerank", "supported");
    const json = { model: "*", query: "a hub", documents: ["a wheel"] };
    const response = await hub.fetch(`/rooms/${code}/v2/rerank`, { json });
    expect(response.status).toBe(status);
    const said = await response.text();
    if (status === 200) expect(said).toBe(readRecording(`llama.cpp/${name}`).body.toString());
    else expect(said).toContain("Start it with `--reranking`");
  });
});

function sendSound(
  hub: TestHub,
  code: string,
  surface: "transcriptions" | "translations",
  fields: Record<string, string>,
  bytes: Buffer<ArrayBuffer> = sound.subarray(0, 1_000),
): Promise<Response> {
  const body = new FormData();
  for (const [name, value] of Object.entries({ model: "*", ...fields })) body.set(name, value);
  body.set("file", new Blob([bytes]), "a.wav");
  return hub.fetch(`/rooms/${code}/v1/audio/${surface}`, { method: "POST", body });
}

test("a malformed form reaches no participant", async () => {
  await using server = await startServer({ "/v1/images/edits": respond("application/json", "{}") });
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { model: "m", endpoint: server.url });
  const send = async (body: string, boundary = "; boundary=b") => {
    const headers = { "content-type": `multipart/form-data${boundary}` };
    const url = `/rooms/${code}/v1/images/edits`;
    const response = await hub.fetch(url, { method: "POST", body, headers });
    const { error } = (await response.json()) as { error: { code: string } };
    return `${response.status} ${error.code}`;
  };
  const model = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n';
  expect(await send(`${model}--b--`, "")).toBe("400 invalid_form");
  expect(await send(model)).toBe("400 invalid_form");
  expect(await send(`${model}${model}--b--`)).toBe("400 invalid_form");
  expect(await send("--b--")).toBe("400 missing_required_parameter");
  expect(server.sent).toEqual([]);
});

test("a request for any participant goes to one that is known to have the surface", async () => {
  await using silent = await startServer({ "/v1/chat/completions": respond("text/plain", "") });
  await using server = await startServer({ "/v1/audio/speech": respond("audio/wav", sound) });
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { id: "ada", model: "chat", endpoint: silent.url });
  await joinDirect(hub, code, { id: "bob", model: "voice", endpoint: server.url });
  await untilListed(hub, code, "audioSpeech", "supported", "bob");
  await untilListed(hub, code, "audioSpeech", "unsupported", "ada");
  const json = { model: "*", input: "hello" };
  const response = await hub.fetch(`/rooms/${code}/v1/audio/speech`, { json });
  expect(response.headers.get("x-roomhub-participant")).toBe("bob");
  const refused = await hub.fetch(`/rooms/${code}/v1/audio/speech`, {
    json: { ...json, model: "ada" },
  });
  expect(await refused.json()).toMatchObject({
    error: {
      code: "unsupported_protocol",
      message: expect.stringContaining("ada cannot serve /audio/speech"),
    },
  });
});
