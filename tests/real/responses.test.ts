import { createOpenAI } from "@ai-sdk/openai";
import { createSseReader } from "@roomhub/protocol";
import { streamText } from "ai";
import { expect, test } from "vitest";
import { settled } from "../support/hub/ledger.ts";
import { PATHS } from "../support/hub/joining.ts";
import { checkEvents, checkResponse } from "../support/documents/open-responses-rules.ts";
import { lastBody } from "./response-body.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";
import { startTap } from "./tap.ts";

describeReal.for(PATHS)("responses by %s", (path) => {
  test("a response and its stream keep the rules that llama.cpp's own break", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const request = { model: "*", input: "go on", max_output_tokens: 20 };

    const plain = await lab.post("/responses", request);
    expect(checkResponse(await plain.json())).toEqual([]);

    const streamed = await lab.post("/responses", { ...request, stream: true });
    expect(checkEvents(dataOf(await streamed.text()))).toEqual([]);

    await settled(lab.events, 2);
    expect(lab.events.of("llm.complete").map(({ data }) => data["metrics"])).toEqual([
      expect.objectContaining({ outputTokens: 20 }),
      expect.objectContaining({ outputTokens: 20 }),
    ]);
  });

  test("the OpenAI SDK puts a streamed response together", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    let text = "";
    const stream = lab.openai.responses.stream({
      model: "*",
      input: "go on",
      max_output_tokens: 20,
    });
    stream.on("response.output_text.delta", ({ delta }) => {
      text += delta;
    });
    const response = await stream.finalResponse();

    expect(text).not.toBe("");
    expect(response.output_text).toBe(text);
    expect(response.usage?.output_tokens).toBe(20);
  });

  test("the AI SDK's own OpenAI provider streams a response", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const openai = createOpenAI({ baseURL: lab.client.baseUrl(lab.code), apiKey: "any" });

    const stream = streamText({
      model: openai.responses("tiny"),
      prompt: "go on",
      maxOutputTokens: 20,
      maxRetries: 0,
    });

    expect(await stream.text).not.toBe("");
    expect(await stream.finishReason).toBe("length");
    expect((await stream.usage).outputTokens).toBe(20);
  });

  test("a participant with native responses relays the server's own bytes", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using tap = await startTap(llama.port);
    await using lab = await startLab();
    await using _ada =
      path === "tunnel"
        ? await lab.join(tap.url, ["--model", "tiny", "--responses", "native"])
        : await lab.register(tap.url, { config: { responses: "native" } });

    const answer = await lab.post("/responses", {
      model: "ada",
      input: "the native one",
      max_output_tokens: 20,
      stream: true,
    });
    const body = await answer.text();

    const wire = await tap.carrying("the native one");
    expect(wire.sent.toString()).toContain("POST /v1/responses ");
    expect(wire.sent.toString()).not.toContain('"responses"');
    expect(body.replace(/data: \[DONE\]\n\n$/, "")).toBe(
      lastBody(wire.received).replace(/data: \[DONE\]\n\n$/, ""),
    );
    const ada = await lab.client.getParticipant(lab.code, "ada");
    expect(ada.capabilities.openResponses).toBe("supported");
  });

  test("what the server does not have is refused by the hub, without a call", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using tap = await startTap(llama.port);
    await using lab = await startLab();
    await using _ada = await lab.bring(path, tap.url);

    const refused = await lab.post("/responses/compact", { model: "*", input: "the long one" });

    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: "unsupported_protocol" } });
    expect(tap.connections.some(({ sent }) => sent.includes("the long one"))).toBe(false);
  });

  test("input tokens are counted as the server counts them", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    const counted = await lab.post("/responses/input_tokens", { model: "*", input: "go on" });

    expect(counted.status).toBe(200);
    expect(await counted.json()).toMatchObject({ input_tokens: expect.any(Number) });
  });
});

describeReal("responses right after a registration", () => {
  test("keep the rules too", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.register(llama.url);

    const streamed = await lab.post("/responses", {
      model: "*",
      input: "go on",
      max_output_tokens: 20,
      stream: true,
    });

    expect(checkEvents(dataOf(await streamed.text()))).toEqual([]);
  });
});

/** The contents of a stream's `data:` lines: parsed, and `[DONE]` as text. */
function dataOf(stream: string): unknown[] {
  const found: unknown[] = [];
  createSseReader(({ data }) => {
    found.push(data === "[DONE]" ? data : (JSON.parse(data) as unknown));
  }).feed(stream);
  return found;
}
