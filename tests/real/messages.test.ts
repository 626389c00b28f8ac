import { expect, test } from "vitest";
import { settled } from "../support/hub/ledger.ts";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { until } from "../support/waiting.ts";
import { lastBody } from "./response-body.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";
import { startTap } from "./tap.ts";

describeReal.for(PATHS)("messages by %s", (path) => {
  test("a message and its stream are the server's own, byte for byte", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using tap = await startTap(llama.port);
    await using lab = await startLab();
    await using _ada = await lab.bring(path, tap.url);

    for (const [stream, prompt] of [
      [false, "the plain one"],
      [true, "the streamed one"],
    ] as const) {
      const answer = await lab.post("/messages", {
        model: "*",
        max_tokens: 20,
        messages: userSays(prompt),
        stream,
      });
      const body = await answer.text();
      expect(body).toBe(lastBody((await tap.carrying(prompt)).received));
    }
    await settled(lab.events, 2);
    expect(lab.events.of("llm.complete").map(({ data }) => data["protocol"])).toEqual([
      "messages",
      "messages",
    ]);
  });

  test("Anthropic's SDK streams a message and counts its tokens", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const request = { model: "tiny", messages: userSays("go on") };

    const message = await lab.anthropic.messages
      .stream({ ...request, max_tokens: 20 })
      .finalMessage();
    const count = await lab.anthropic.messages.countTokens(request);

    expect(message.content).toEqual([expect.objectContaining({ type: "text" })]);
    expect(message.usage).toMatchObject({ output_tokens: 20 });
    expect(count.input_tokens).toBeGreaterThan(0);
  });

  test("that the server has messages is known without a request of a client", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    await until(
      "messages to be known",
      async () => (await lab.client.getParticipant(lab.code, "ada")).capabilities,
      ({ messages }) => messages === "supported",
    );
    expect(await llama.slots()).toEqual(
      expect.arrayContaining([expect.not.objectContaining({ n_prompt_tokens: expect.anything() })]),
    );
  });
});
