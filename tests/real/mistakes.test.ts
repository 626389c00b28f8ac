import { expect, test } from "vitest";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";

const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = [
  {
    role: "user",
    content: [
      { type: "text", text: "what is it?" },
      { type: "image_url", image_url: { url: pixel } },
    ],
  },
];

/** Requests that llama.cpp rejects with 500, although only the client can correct them. */
const mistakes = {
  "an image for a model without a projector": ["/chat/completions", { messages: image }],
  "tools of no known type": [
    "/chat/completions",
    { messages: userSays("hi"), tools: [{ type: "x" }] },
  ],
  "a message without messages": ["/messages", { max_tokens: 5 }],
} as const;
const mistakeNames = Object.keys(mistakes) as (keyof typeof mistakes)[];

describeReal.for(PATHS)("a client's mistake by %s", (path) => {
  test.for(mistakeNames)("is not to be repeated: %s", async (name) => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const [surface, body] = mistakes[name];

    const refused = await lab.post(surface, { model: "*", ...body });

    expect(refused.status).toBe(400);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(await refused.json()).toMatchObject({ error: { message: expect.any(String) } });
    const next = await lab.post("/chat/completions", {
      model: "*",
      messages: userSays("hi"),
      max_tokens: 5,
    });
    expect(next.status).toBe(200);
  });

  test("of requesting embeddings is refused without a call from the second time on", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    await lab.post("/embeddings", { model: "*", input: "hi" });
    const refused = await lab.post("/embeddings", { model: "*", input: "hi" });

    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: "unsupported_protocol" } });
  });

  test("of too long a prompt keeps the server's own words", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);

    const refused = await lab.post("/chat/completions", {
      model: "*",
      messages: userSays("x".repeat(40_000)),
    });

    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { type: "exceed_context_size_error", n_ctx: expect.any(Number) },
    });
  });
});
