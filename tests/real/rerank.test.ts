import { CohereClientV2, CohereError } from "cohere-ai";
import { expect, test } from "vitest";
import { PATHS } from "../support/hub/joining.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";

const query = "which room has the hub";
const documents = ["a wheel", "the hub runs", "it waits"];

describeReal.for(PATHS)("reranking by %s", (path) => {
  test("passes byte for byte at both of its paths", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", isReranker: true });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const request = { model: "tiny", query, documents, top_n: 2 };
    const own = await llama.post("/v1/rerank", request);
    const room = lab.openai.baseURL.replace(/\/v1$/, "");
    for (const version of ["v1", "v2"]) {
      const body = JSON.stringify({ ...request, model: "*" });
      const relayed = await fetch(`${room}/${version}/rerank`, { method: "POST", body });
      expect(await relayed.text()).toBe(await own.clone().text());
    }
    const [{ data } = {}] = lab.events.of("llm.complete");
    expect(data).toMatchObject({
      protocol: "rerank",
      metrics: { inputTokens: expect.any(Number) },
    });
  });

  test("serves Cohere's client", async () => {
    await using llama = await startLlamaServer({ alias: "tiny", isReranker: true });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const environment = lab.openai.baseURL.replace(/\/v1$/, "");
    const cohere = new CohereClientV2({ environment, token: "any" });
    const { results } = await cohere.rerank({ model: "*", query, documents });
    const scores = results.map(({ relevanceScore }) => relevanceScore);
    expect(new Set(results.map(({ index }) => index))).toEqual(new Set([0, 1, 2]));
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    const refused = await cohere
      .rerank({ model: "*", query, documents: [] })
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CohereError);
    expect(refused).toMatchObject({
      statusCode: 400,
      body: { error: { message: '"documents" must be a non-empty string array' } },
    });
  });

  test("is refused without a call once the server has said that it was not started for it", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const request = { model: "*", query, documents };
    const first = await lab.post("/rerank", request);
    expect(await first.text()).toContain("--reranking");
    const refused = await lab.post("/rerank", request);
    expect([first.status, refused.status]).toEqual([400, 400]);
    expect(await refused.json()).toMatchObject({ error: { code: "unsupported_protocol" } });
  });
});

describeReal("join beside a server for one thing", () => {
  test.for([
    ["rerank", { isReranker: true }],
    ["embeddings", { args: ["--embeddings", "--pooling", "mean"] }],
  ] as const)("shares it for %s", async ([word, options]) => {
    await using llama = await startLlamaServer({ alias: "tiny", ...options });
    await using lab = await startLab();
    await using _ada = await lab.join(llama.url);
    const { capabilities } = await lab.client.getParticipant(lab.code, "ada");
    expect(capabilities).toMatchObject({ chatCompletions: "unsupported", [word]: "supported" });
  });
});

describeReal.for(PATHS)("embeddings by %s", (path) => {
  test("are the server's own", async () => {
    const args = ["--embeddings", "--pooling", "mean"];
    await using llama = await startLlamaServer({ alias: "tiny", args });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const input = ["the hub", "a room"];
    const own = (await (await llama.post("/v1/embeddings", { input })).json()) as object;
    const relayed = await lab.post("/embeddings", { model: "*", input });
    expect(await relayed.json()).toEqual({ ...own, model: "tiny" });
    const { data, usage } = await lab.openai.embeddings.create({ model: "*", input });
    expect(data.map(({ embedding }) => embedding.length)).toEqual([64, 64]);
    expect(usage.prompt_tokens).toBeGreaterThan(0);
  });
});
