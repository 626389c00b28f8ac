import { expect, test } from "vitest";
import { settled } from "../support/hub/ledger.ts";
import { PATHS } from "../support/hub/joining.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";
import { noise } from "./noise.ts";

/** llama-server takes it in a form too: without it the tiny model says thousands of words. */
const limit = { max_tokens: "8" };
const request = { model: "*", ...limit };

describeReal.for(PATHS)("a llama-server whose model hears, by %s", (path) => {
  test("transcribes, whole and streamed", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", canHear: true });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const { transcriptions } = lab.openai.audio;
    const { text } = await transcriptions.create({ ...request, file: noise(3) });
    expect(text).toMatch(/\w/);
    const stream = await transcriptions.create({ ...request, file: noise(3), stream: true });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(new Set(types.slice(0, -1))).toEqual(new Set(["transcript.text.delta"]));
    expect(types.at(-1)).toBe("transcript.text.done");
    await settled(lab.events, 2);
    const done = lab.events.of("llm.complete").map(({ data }) => data);
    expect(done).toMatchObject(
      Array.from({ length: 2 }, () => ({
        protocol: "audioTranscriptions",
        metrics: { outputTokens: 8 },
      })),
    );
  });

  test("refuses in its own words, and translates nothing", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", canHear: true });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const { transcriptions, translations } = lab.openai.audio;
    const file = noise(1);
    await expect(
      transcriptions.create({ ...request, file, response_format: "srt" }),
    ).rejects.toMatchObject({ status: 400, error: { message: expect.stringContaining("'json'") } });
    await expect(
      transcriptions.create({ ...request, file: new File(["hello"], "hello.wav") }),
    ).rejects.toMatchObject({ status: 400, error: { message: expect.stringContaining("load") } });
    await expect(translations.create({ ...request, file })).rejects.toMatchObject({
      status: 400,
      error: { code: "unsupported_protocol" },
    });
  });

  test("takes sound in a chat", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", canHear: true });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const data = Buffer.from(await noise(3).arrayBuffer()).toString("base64");
    const { choices } = await lab.openai.chat.completions.create({
      model: "*",
      max_tokens: 8,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "what is it?" },
            { type: "input_audio", input_audio: { data, format: "wav" } },
          ],
        },
      ],
    });
    expect(choices[0]?.message.content).toMatch(/\w/);
  });
});

describeReal.for(PATHS)("a llama-server whose model does not hear, by %s", (path) => {
  test("gets no sound", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const refused = lab.openai.audio.transcriptions.create({ ...request, file: noise(1) });
    await expect(refused).rejects.toMatchObject({ error: { code: "unsupported_protocol" } });
    expect(llama.output).not.toContain("audio input");
  });
});
