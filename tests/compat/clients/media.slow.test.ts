import { createCohere } from "@ai-sdk/cohere";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateImage, generateSpeech, rerank, transcribe } from "ai";
import { CohereClientV2 } from "cohere-ai";
import { readFile, writeFile } from "node:fs/promises";
import { join as joinPath } from "node:path";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { join, PATHS } from "../../support/hub/joining.ts";
import { startTestHub } from "../../support/hub/start-test-hub.ts";
import { missingInPython } from "../../support/programs/python.ts";
import { runCommand } from "../../support/programs/run-command.ts";
import { temporaryFolder } from "../../support/programs/temporary-folder.ts";
import { PICTURE, RANKING, SOUND, startMediaServer } from "../../support/providers/media-server.ts";
import { until } from "../../support/waiting.ts";
import { ANY_KEY } from "../client.ts";

const picture = Buffer.from(PICTURE, "base64");
const prompt = "a hub";

/** The clients of these surfaces, each with its defaults, before a room whose one participant has them all and no chat. */
describe.each(PATHS)("over %s", (path) => {
  let world: Awaited<ReturnType<typeof openRoom>>;
  beforeAll(async () => {
    world = await openRoom(path);
  });
  afterAll(() => world[Symbol.asyncDispose]());
  beforeEach(() => void (world.requests.length = 0));
  /** Each request had the participant's own model. */
  const expectPaths = (...paths: string[]) =>
    expect(world.requests.map(({ path: one, model }) => [one, model])).toEqual(
      paths.map((one) => [`/v1/${one}`, "tiny-media"]),
    );

  describe("openai", () => {
    const openai = () => new OpenAI({ baseURL: world.baseUrl, apiKey: ANY_KEY });

    test("transcribes, translates, and hears words while they come", async () => {
      const { transcriptions, translations } = openai().audio;
      const file = await toFile(SOUND, "a.wav");
      const model = "*";
      expect(await transcriptions.create({ file, model })).toMatchObject({ text: "hello there" });
      expect(await translations.create({ file, model })).toMatchObject({ text: "hello there" });
      const deltas: string[] = [];
      for await (const event of await transcriptions.create({ file, model, stream: true })) {
        if (event.type === "transcript.text.delta") deltas.push(event.delta);
      }
      expect(deltas).toEqual(["hello ", "there"]);
      expectPaths("audio/transcriptions", "audio/translations", "audio/transcriptions");
      expect(world.requests.every(({ hasSound }) => hasSound)).toBe(true);
    });

    test("speaks, into a file and as events", async () => {
      await using folder = await temporaryFolder();
      const { speech } = openai().audio;
      const wish = { model: "*", voice: "alloy", input: "hello" } as const;
      const response = await speech.create(wish);
      const file = joinPath(folder.path, "a.mp3");
      await writeFile(file, Buffer.from(await response.arrayBuffer()));
      expect(SOUND.equals(await readFile(file))).toBe(true);
      const stream = await (await speech.create({ ...wish, stream_format: "sse" })).text();
      expect(stream).toContain("speech.audio.done");
      expectPaths("audio/speech", "audio/speech");
    });

    test("generates and edits pictures, and sees them come", async () => {
      const { images } = openai();
      const model = "*";
      const image = await toFile(picture, "a.png", { type: "image/png" });
      const made = await images.generate({ model, prompt });
      const edited = await images.edit({ model, prompt, image });
      expect([made.data, edited.data]).toEqual([[{ b64_json: PICTURE }], [{ b64_json: PICTURE }]]);
      const seen: string[] = [];
      for await (const { type } of await images.generate({ model, prompt, stream: true }))
        seen.push(type);
      for await (const { type } of await images.edit({ model, prompt, image, stream: true }))
        seen.push(type);
      expect(seen).toEqual([
        "image_generation.partial_image",
        "image_generation.completed",
        "image_edit.partial_image",
        "image_edit.completed",
      ]);
      expectPaths("images/generations", "images/edits", "images/generations", "images/edits");
    });

    test("has an error of its own for a model that is not there, and for a form without one", async () => {
      const file = await toFile(SOUND, "a.wav");
      const { transcriptions } = openai().audio;
      await expect(transcriptions.create({ file, model: "missing" })).rejects.toMatchObject({
        ...{ status: 404, code: "model_not_found" },
      });
      await expect(transcriptions.create({ file, model: "" })).rejects.toMatchObject({
        ...{ status: 400, param: "model" },
      });
      expect(world.requests).toEqual([]);
    });
  });

  test("the AI SDK transcribes, speaks and generates pictures", async () => {
    const openai = createOpenAI({ baseURL: world.baseUrl, apiKey: ANY_KEY });
    const room = createOpenAICompatible({ name: "room", baseURL: world.baseUrl });
    const { text } = await transcribe({ model: openai.transcription("*"), audio: SOUND });
    expect(text).toBe("hello there");
    const { audio } = await generateSpeech({ model: openai.speech("*"), text: "hello" });
    expect(SOUND.equals(audio.uint8Array)).toBe(true);
    for (const model of [openai.image("*"), room.imageModel("*")]) {
      expect((await generateImage({ model, prompt })).image.base64).toBe(PICTURE);
    }
    expectPaths(
      ...["audio/transcriptions", "audio/speech", "images/generations", "images/generations"],
    );
  });

  test("a request as Jina's client sends it ranks documents", async () => {
    const response = await fetch(`${world.roomUrl}/v1/rerank`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${ANY_KEY}` },
      body: JSON.stringify({ model: "*", query: "q", documents: ["a", "b"], top_n: 2 }),
    });
    expect(await response.json()).toEqual(RANKING);
    expectPaths("rerank");
  });

  test("Cohere's client ranks documents, and has its own error for a model that is not there", async () => {
    const cohere = new CohereClientV2({ environment: world.roomUrl, token: ANY_KEY });
    const wish = { query: "q", documents: ["a", "b"], topN: 2 };
    const { results } = await cohere.rerank({ model: "*", ...wish });
    expect(results).toEqual([
      { index: 1, relevanceScore: 0.9 },
      { index: 0, relevanceScore: 0.1 },
    ]);
    expect(world.requests).toMatchObject([{ path: "/v2/rerank", model: "tiny-media" }]);
    await expect(cohere.rerank({ model: "missing", ...wish })).rejects.toMatchObject({
      statusCode: 404,
    });
  });

  test("the AI SDK ranks documents", async () => {
    const cohere = createCohere({ baseURL: `${world.roomUrl}/v2`, apiKey: ANY_KEY });
    const documents = ["a", "b"];
    const { ranking } = await rerank({ model: cohere.reranking("*"), query: "q", documents });
    expect(ranking.map(({ document, score }) => [document, score])).toEqual([
      ["b", 0.9],
      ["a", 0.1],
    ]);
    expect(world.requests).toMatchObject([{ path: "/v2/rerank", model: "tiny-media" }]);
  });

  test.skipIf(missing !== undefined)(
    `openai for Python transcribes and speaks${skipped}`,
    async () => {
      const program = `
import sys, io, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key="any")
said = client.audio.transcriptions.create(model="*", file=("a.wav", io.BytesIO(b"RIFF")))
with client.audio.speech.with_streaming_response.create(model="*", voice="alloy", input="hello") as speech:
    print(said.text, len(speech.read()))
`;
      const { stdout } = await runCommand("python3", ["-c", program, world.baseUrl]);
      expect(stdout.trim()).toBe(`hello there ${SOUND.length}`);
    },
  );
});

const missing = missingInPython("openai");
const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;

async function openRoom(path: (typeof PATHS)[number]) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startMediaServer());
  const hub = stack.use(await startTestHub());
  const code = await hub.createRoom();
  stack.use(await join(path, hub, code, { model: "tiny-media", endpoint: server.url }));
  await until(
    "what it can do",
    () => hub.client.listParticipants(code),
    ([one]) => one?.capabilities["imageEdits"] === "supported",
  );
  const owned = stack.move();
  const roomUrl = `${hub.url}/rooms/${code}`;
  return {
    ...{ roomUrl, baseUrl: `${roomUrl}/v1`, requests: server.requests },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
