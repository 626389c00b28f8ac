import { expect, test } from "vitest";
import { settled } from "../support/hub/ledger.ts";
import { PATHS } from "../support/hub/joining.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { until } from "../support/waiting.ts";
import { describeWhisper } from "./binary.ts";
import { type Lab, startLab } from "./lab.ts";
import { noise } from "./noise.ts";
import { startWhisperServer } from "./whisper-server.ts";

/** Types that clients get: the server calls plain text HTML. */
const types = {
  json: "application/json",
  verbose_json: "application/json",
  text: "text/plain; charset=utf-8",
  srt: "application/x-subrip",
  vtt: "text/vtt",
} as const;
const formats = Object.keys(types) as (keyof typeof types)[];

describeWhisper.for(PATHS)("whisper.cpp by %s", (path) => {
  test("transcribes in each of its formats, byte for byte", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    for (const format of formats) {
      const own = await send(`${server.url}/inference`, { response_format: format });
      const relayed = await transcribe(lab, { response_format: format });
      expect(comparable(await relayed.text())).toBe(comparable(await own.text()));
      expect(relayed.headers.get("content-type")).toBe(types[format]);
    }
    const done = await until(
      "the metrics of each",
      () => lab.events.of("llm.complete"),
      (found) => found.length === formats.length,
    );
    // Only the verbose form says how long the sound is.
    expect(done.map(({ data }) => seconds(data["metrics"]))).toEqual(
      formats.map((format) => (format === "verbose_json" ? 3 : undefined)),
    );
  });

  test("transcribes for OpenAI's SDK", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    const { transcriptions } = lab.openai.audio;
    const { text } = await transcriptions.create({ model: "*", file: noise(3) });
    const request = { model: "tiny", file: noise(3) };
    const long = await transcriptions.create({ ...request, response_format: "verbose_json" });
    expect([long.duration, long.text]).toEqual([3, text]);
    expect(long.segments?.map(({ start }) => start)).toEqual([0, 1, 2]);
    expect(await transcriptions.create({ ...request, response_format: "text" })).toBe(text);
  });

  test("translates, which the server has no path for", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    const { translations } = lab.openai.audio;
    const request = { model: "*", response_format: "verbose_json" } as const;
    for (const length of [3, 60]) {
      const file = noise(length);
      const translated = await translations.create({ ...request, ...{ file, duration: "1000" } });
      expect(translated).toMatchObject({ task: "translate", duration: length });
    }
  });

  test("takes a file in front of its model", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    const form = new FormData();
    form.set("file", noise(60));
    form.set("model", "*");
    form.set("duration", "1000");
    const response = await post(`${lab.openai.baseURL}/audio/transcriptions`, form);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ text: expect.stringContaining("the") });
  });

  test("takes one request after the other", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    const both = await Promise.all([transcribe(lab, {}), transcribe(lab, {})]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    const waits = both.map(({ headers }) => Number(headers.get("x-roomhub-queue-ms")));
    expect(Math.max(...waits)).toBeGreaterThan(0);
  });

  test("ends a transcription whose client has left", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    const leave = new AbortController();
    const left = transcribe(lab, {}, { sound: noise(60), signal: leave.signal });
    left.catch(() => undefined);
    await outputOf(server, "processing 'noise.wav'");
    leave.abort();
    await outputOf(server, "client disconnected, aborted processing");
    await settled(lab.events, 1);
    expect(lab.events.of("llm.error").map(({ data }) => data["code"])).toEqual([
      "client_disconnected",
    ]);
    expect((await transcribe(lab, {})).status).toBe(200);
  });

  test("that is killed in a transcription is an error, and not ready from then on", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    const lost = transcribe(lab, {}, { sound: noise(60) });
    await outputOf(server, "processing 'noise.wav'");
    await server.kill();
    expect([(await lost).status, await codeOf(await lost)]).toEqual([502, "provider_disconnected"]);
    await lab.untilReadiness("ada", "down");
    const refused = await transcribe(lab, {});
    expect([refused.status, await codeOf(refused)]).toEqual([503, "participant_offline"]);
  });

  test("refuses what is no sound in its own words", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    const text = new File(["hello"], "hello.wav");
    const refused = await transcribe(lab, {}, { sound: text });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { message: "Invalid request" } });
  });

  test("has no chat", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    await using _ada = await lab.bring(path, server.url);
    const refused = await lab.post("/chat/completions", { model: "*", messages: [] });
    expect([refused.status, await codeOf(refused)]).toEqual([400, "unsupported_protocol"]);
    expect(server.output).not.toContain("chat");
  });
});

describeWhisper("join beside whisper.cpp", () => {
  test("asks for a name of its model, and shares it for transcription", async () => {
    await using server = await startWhisperServer();
    await using lab = await startLab();
    const args = ["join", `${lab.url}/rooms/${lab.code}`, "--endpoint", server.url];
    await using nameless = startRoomhub(args);
    await outputOf(nameless, `give the model a name: --endpoint ${server.url} --model whisper`);
    await using _ada = await lab.join(server.url, ["--model", "whisper"]);
    const { capabilities } = await lab.client.getParticipant(lab.code, "ada");
    expect(capabilities).toMatchObject({
      audioTranscriptions: "supported",
      chatCompletions: "unsupported",
    });
  });
});

/** One of its figures differs from one run to the next. */
function comparable(transcript: string): string {
  return transcript.replaceAll(/"no_speech_prob":[^,}]+/g, "");
}

interface Sent {
  sound?: File;
  signal?: AbortSignal;
}

function transcribe(lab: Lab, fields: Record<string, string>, sent: Sent = {}): Promise<Response> {
  return send(`${lab.openai.baseURL}/audio/transcriptions`, { model: "*", ...fields }, sent);
}

function send(
  url: string,
  fields: Record<string, string>,
  { sound = noise(3), signal }: Sent = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("file", sound);
  return post(url, form, signal);
}

function post(url: string, body: FormData, signal?: AbortSignal): Promise<Response> {
  return fetch(url, { method: "POST", body, ...(signal === undefined ? {} : { signal }) });
}

async function outputOf(server: { output: string }, text: string): Promise<void> {
  await until(
    text,
    () => server.output,
    (output) => output.includes(text),
    30_000,
  );
}

async function codeOf(response: Response): Promise<unknown> {
  return ((await response.json()) as { error: { code: unknown } }).error.code;
}

function seconds(metrics: unknown): unknown {
  return (metrics as { audioSeconds?: number }).audioSeconds;
}
