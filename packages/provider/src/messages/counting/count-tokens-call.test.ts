import { expect, test } from "vitest";
import { probe, start } from "../../model-server.fixture.ts";
import { listen, type Reply } from "../../scripted-server.fixture.ts";
import type { ModelServer } from "../../model-server.ts";

const path = "/messages/count_tokens";
const native = "POST /v1/messages/count_tokens";
const models: Reply = { body: '{"data":[{"id":"m"}]}' };
const request = {
  model: "m",
  system: "Be brief.",
  tools: [{ name: "f", input_schema: { type: "object" } }],
  messages: [{ role: "user", content: "2+2?" }],
};
const png = {
  type: "image",
  source: { type: "base64", media_type: "image/png", data: "A".repeat(9_000) },
};

async function count(server: ModelServer, more: object = {}) {
  const body = [Buffer.from(JSON.stringify({ ...request, ...more }))];
  const heard = listen(server, { path, body });
  await heard.closed;
  const { input_tokens: tokens } = JSON.parse(heard.body) as { input_tokens?: number };
  return {
    status: heard.status,
    tokens,
    isEstimate: heard.headers["x-roomhub-token-count"],
    heard,
  };
}

const llamaCpp: Record<string, Reply> = {
  "GET /v1/models": { body: '{"data":[{"id":"m","owned_by":"llamacpp"}]}' },
  "GET /props": { body: '{"default_generation_settings":{},"build_info":"b1"}' },
  "POST /apply-template": { body: '{"prompt":"<s>Be brief. 2+2?"}' },
  "POST /tokenize": { body: '{"tokens":[1,2,3,4,5,6,7]}' },
};
const vllm: Record<string, Reply> = {
  "GET /v1/models": { body: '{"data":[{"id":"m","owned_by":"vllm"}]}' },
  "POST /tokenize": { body: '{"count":12,"max_model_len":4096,"tokens":[]}' },
};

test("a server with messages of its own counts by itself", async () => {
  const { server, provider } = start({ [native]: { body: '{"input_tokens":30}' } });
  expect(await count(server)).toMatchObject({ status: 200, tokens: 30, isEstimate: undefined });
  expect(provider.lines()).toEqual([native]);
});

test("an older llama.cpp counts by its template and its tokenizer", async () => {
  const { server, provider } = start(llamaCpp);
  await probe(server, provider);
  expect(await count(server)).toMatchObject({ status: 200, tokens: 7, isEstimate: undefined });
  const [template, tokenize] = provider.requests.slice(-2).map(({ line, body }) => {
    return { line, body: JSON.parse(body) as Record<string, unknown> };
  });
  expect(template).toMatchObject({
    line: "POST /apply-template",
    body: { messages: [{ role: "system", content: "Be brief." }, { role: "user" }], tools: [{}] },
  });
  expect(tokenize).toEqual({
    line: "POST /tokenize",
    body: {
      model: "m",
      content: "<s>Be brief. 2+2?",
      add_special: true,
      parse_special: true,
    },
  });
});

test("vLLM counts messages", async () => {
  const { server, provider } = start(vllm);
  await probe(server, provider);
  expect(await count(server)).toMatchObject({ tokens: 12, isEstimate: undefined });
  expect(provider.lines().at(-1)).toBe("POST /tokenize");
});

test("what a tokenizer leaves out is estimated beside its count", async () => {
  const { server, provider } = start(vllm);
  await probe(server, provider);
  const messages = [{ role: "user", content: [png, { type: "text", text: "What?" }] }];
  expect(await count(server, { messages })).toMatchObject({
    tokens: 1_312,
    isEstimate: "estimate",
  });
});

test("without a tokenizer the tokens are estimated, and nothing is generated", async () => {
  const { server, provider } = start({ "GET /v1/models": models });
  const small = await count(server);
  expect(small).toMatchObject({ status: 200, isEstimate: "estimate" });
  const messages = [{ role: "user", content: "x".repeat(4_000) }];
  const large = await count(server, { messages });
  expect(large.tokens! - small.tokens!).toBeGreaterThan(900);
  expect(large.tokens! - small.tokens!).toBeLessThan(1_100);
  const image = await count(server, { messages: [{ role: "user", content: [png] }] });
  expect(image.tokens).toBeLessThan(1_500);
  expect(provider.lines().filter((line) => line.includes("chat"))).toEqual([]);
});

test.each([
  ["is missing", undefined],
  ["fails", { status: 500, body: "{}" }],
  ["is of another shape", { body: '{"tokens":"many"}' }],
  ["breaks off", { failure: { code: "provider_disconnected", message: "gone" } }],
] as [string, Reply | undefined][])(
  "a tokenizer that %s is replaced by an estimate",
  async (_what, reply) => {
    const script: Record<string, Reply> = { ...vllm };
    if (reply === undefined) delete script["POST /tokenize"];
    else script["POST /tokenize"] = reply;
    const { server, provider } = start(script);
    await probe(server, provider);
    expect(await count(server)).toMatchObject({ status: 200, isEstimate: "estimate" });
    expect(server.readiness.readiness).toBe("ready");
  },
);

test("a request that cannot be translated is refused in Anthropic's shape", async () => {
  const { server } = start({});
  const { heard } = await count(server, { mcp_servers: [{}] });
  expect(heard.status).toBe(400);
  expect(JSON.parse(heard.body)).toMatchObject({
    type: "error",
    error: { type: "invalid_request_error", param: "mcp_servers" },
  });
});

test("a server's own refusal passes", async () => {
  const body = '{"error":{"message":"model m not found"}}';
  const { server } = start({ [native]: { status: 404, body } });
  expect((await count(server)).heard.body).toBe(body);
});

test("a streamed body that is too long is refused while it comes", async () => {
  const { server, provider } = start({}, { maxTranslatedBytes: 10 });
  const heard = listen(server, { path, body: "streamed" });
  heard.call.writeBody(Buffer.from(JSON.stringify(request)));
  heard.call.endBody();
  await heard.closed;
  expect(heard.status).toBe(413);
  expect(provider.lines()).toEqual([]);
});

test("a cancel ends the count, wherever it is", async () => {
  const hanging: Reply = { hangs: "before-head" };
  const { server, provider } = start({ ...vllm, "POST /tokenize": hanging });
  await probe(server, provider);
  const heard = listen(server, { path, body: [Buffer.from(JSON.stringify(request))] });
  heard.call.cancel();
  await heard.closed;
  expect(heard.log).toEqual(["closed"]);
  expect(provider.open).toBe(0);
});
