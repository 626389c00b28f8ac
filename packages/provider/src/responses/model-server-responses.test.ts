import { describe, expect, test } from "vitest";
import {
  send,
  body,
  chat,
  completion,
  native,
  probe,
  response,
  start,
} from "../model-server.fixture.ts";
import { listen, type Reply } from "../scripted-server.fixture.ts";

const llamaCpp: Record<string, Reply> = {
  "GET /v1/models": { body: '{"data":[{"id":"m","owned_by":"llamacpp"}]}' },
  "GET /props": { body: '{"default_generation_settings":{},"build_info":"b1"}' },
  [native]: response,
  [chat]: { body: completion },
};

test("llama.cpp's own responses break SDKs, so they are translated though it has some", async () => {
  const { provider, server } = start((requested) =>
    requested.body === "{}" ? { status: 400, body: "{}" } : llamaCpp[requested.line],
  );
  await probe(server, provider);
  expect(server.capabilities).toMatchObject({
    openResponses: "supported",
    responsesInputTokens: "supported",
  });
  expect(JSON.parse((await send(server)).body)).toMatchObject({ status: "completed" });
  expect(provider.lines().at(-1)).toBe(chat);
});

test("they are translated from the model list on, before the rest is known", async () => {
  const { provider, server, reported } = start({
    ...llamaCpp,
    "GET /props": { hangs: "before-head" },
  });
  await server.probe(1_000);
  expect(JSON.parse((await send(server)).body)).toMatchObject({ status: "completed" });
  expect(provider.lines()).toEqual(["GET /v1/models", "GET /props", chat]);
  expect(reported).toEqual([expect.objectContaining({ chatCompletions: "supported" })]);
});

test("a body too long to be translated goes to llama.cpp's own responses", async () => {
  const { provider, server } = start(
    (requested) =>
      requested.body === "{}" ? { status: 400, body: "{}" } : llamaCpp[requested.line],
    { maxTranslatedBytes: 10 },
  );
  await probe(server, provider);
  expect((await send(server)).body).toBe(response.body);
  expect(provider.lines().at(-1)).toBe(native);
});

describe("the user's choice", () => {
  let choice: "native" | "translated" | undefined;
  const chosen = (script: Record<string, Reply>) =>
    start(
      (requested) =>
        requested.body === "{}" ? { status: 400, body: "{}" } : script[requested.line],
      {
        modes: () => ({ openResponses: choice }),
      },
    );

  test("of native keeps what llama.cpp says, and a missing path stays missing", async () => {
    choice = "native";
    const { provider, server } = chosen(llamaCpp);
    await probe(server, provider);
    expect(server.capabilities.openResponses).toBe("supported");
    expect((await send(server)).body).toBe(response.body);
    const none = chosen({ [chat]: { body: completion } });
    expect((await send(none.server)).status).toBe(404);
    expect(none.server.capabilities.openResponses).toBe("unsupported");
    expect(none.provider.lines()).toEqual([native]);
  });

  test("of translated leaves a server's own responses aside, which are not stored then", async () => {
    choice = undefined;
    const { provider, server, reported } = chosen({
      "GET /v1/models": { body: '{"data":[{"id":"m"}]}' },
      "GET /api/v1/models": { body: '{"models":[]}' },
      [native]: response,
      [chat]: { body: completion },
    });
    await send(server);
    expect(server.capabilities.openResponses).toBe("supported");
    choice = "translated";
    server.settingsChanged();
    await listen(server, { path: "/chat/completions", body: body() }).closed;
    expect(reported.at(-1)).toMatchObject({
      openResponses: "supported",
      storedResponses: "unsupported",
    });
    expect(JSON.parse((await send(server)).body)).toMatchObject({ status: "completed" });
    expect(provider.lines()).toEqual([native, chat, chat]);
  });

  test("of translated is none where there is no chat", async () => {
    choice = "translated";
    const { provider, server } = start(
      { [native]: response },
      {
        modes: () => ({ openResponses: choice }),
        declared: () => ({ chatCompletions: "unsupported" }),
      },
    );
    expect((await send(server)).body).toBe(response.body);
    expect(provider.lines()).toEqual([native]);
  });
});
