import { expect, test } from "vitest";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { ledgerProblems, settled } from "../support/hub/ledger.ts";
import { lastBody } from "./response-body.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";
import { startTap } from "./tap.ts";

describeReal.for(PATHS)("chat by %s", (path) => {
  test("a JSON response is the server's own, byte for byte, with fields that only it has", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using tap = await startTap(llama.port);
    await using lab = await startLab();
    await using _ada = await lab.bring(path, tap.url);

    const answer = await lab.post("/chat/completions", {
      model: "*",
      messages: userSays("the plain one"),
      max_tokens: 20,
      ignore_eos: true,
      return_progress: false,
    });
    const body = await answer.text();

    const wire = await tap.carrying("the plain one");
    expect(answer.status).toBe(200);
    expect(body).toBe(lastBody(wire.received));
    expect(JSON.parse(body)).toMatchObject({
      choices: [{ finish_reason: "length" }],
      usage: { completion_tokens: 20 },
      timings: { predicted_n: 20 },
    });
    expect(wire.sent.toString()).toContain('"ignore_eos":true');
    await settled(lab.events, 1);
    expect(lab.events.of("llm.complete")[0]?.data["metrics"]).toMatchObject({ outputTokens: 20 });
  });

  test("a stream passes byte for byte, timings included, gets no stream_options and has its tokens counted all the same", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using tap = await startTap(llama.port);
    await using lab = await startLab();
    await using _ada = await lab.bring(path, tap.url);

    const answer = await lab.post("/chat/completions", {
      model: "ada",
      messages: userSays("the streamed one"),
      max_tokens: 30,
      ignore_eos: true,
      stream: true,
    });
    const body = await answer.text();

    const wire = await tap.carrying("the streamed one");
    expect(wire.sent.toString()).not.toContain("stream_options");
    expect(body).toBe(lastBody(wire.received));
    const timings = /"timings":\{[^}]*\}/.exec(body)?.[0] ?? "";
    expect(timings).toContain('"predicted_n":30');
    await settled(lab.events, 1);
    const inputTokens = /"cache_n":(\d+),"prompt_n":(\d+)/.exec(timings)?.slice(1).map(Number);
    expect(lab.events.of("llm.complete")[0]?.data["metrics"]).toMatchObject({
      inputTokens: inputTokens?.reduce((a, b) => a + b),
      outputTokens: 30,
    });
  });

  test("a stream reports its usage to a client with stream_options", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    const stream = await lab.openai.chat.completions.create({
      model: "tiny",
      messages: userSays("go on"),
      max_tokens: 10,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let usage: unknown;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }

    expect(text).not.toBe("");
    expect(usage).toMatchObject({ completion_tokens: expect.any(Number) });
  });

  test("a response with a JSON schema conforms to it", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    const { choices } = await lab.openai.chat.completions.create({
      model: "model:tiny",
      messages: userSays("which colour?"),
      max_tokens: 200,
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "colour",
          schema: {
            type: "object",
            properties: { colour: { enum: ["red", "green"] } },
            required: ["colour"],
          },
        },
      },
    });

    const { colour } = JSON.parse(choices[0]?.message.content ?? "") as { colour: string };
    expect(["red", "green"]).toContain(colour);
  });

  test("more requests than the server has slots all complete", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", slots: 2 });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    const answers = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const answer = await lab.post("/chat/completions", {
          model: "*",
          messages: userSays(`number ${index}`),
          max_tokens: 50,
          stream: index % 2 === 0,
        });
        return { status: answer.status, text: await answer.text() };
      }),
    );

    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    for (const [index, { text }] of answers.entries()) {
      if (index % 2 === 0) expect(text).toMatch(/data: \[DONE\]\n\n$/);
    }
    await settled(lab.events, 8);
    expect(lab.events.of("llm.complete")).toHaveLength(8);
    expect(ledgerProblems(lab.events)).toEqual([]);
  });
});
