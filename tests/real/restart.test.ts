import { expect, test } from "vitest";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { until } from "../support/waiting.ts";
import { describeReal } from "./binary.ts";
import { type Lab, startLab } from "./lab.ts";
import { type LlamaServer, type LlamaServerOptions, startLlamaServer } from "./llama-server.ts";

const short = { messages: userSays("hi"), max_tokens: 5 };

describeReal.for(PATHS)("a server that is restarted, by %s", (path) => {
  test("with the same model is ready again by itself", async () => {
    const first = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, first.url);
    await using _again = await restart(lab, first, { alias: "tiny" });

    await lab.untilReadiness("ada", "ready");
    const answer = await lab.post("/chat/completions", { model: "ada", ...short });
    expect(answer.status).toBe(200);
  });

  test("with another model than the one that was named is the wrong one, until the right one is back", async () => {
    const first = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, first.url);
    await lab.untilReadiness("ada", "ready");
    const other = await restart(lab, first, { alias: "other-model" });

    await lab.untilReadiness("ada", "wrong-model");
    const { connection, model } = await lab.client.getParticipant(lab.code, "ada");
    expect(model).toBe("tiny");
    expect(connection.problem).toContain("now serves other-model");
    const refused = await lab.post("/chat/completions", { model: "ada", ...short });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: "participant_offline" } });

    await using _right = await again(other, { alias: "tiny" });
    await lab.untilReadiness("ada", "ready");
    const answer = await lab.post("/chat/completions", { model: "tiny", ...short });
    expect(answer.status).toBe(200);
  });
});

describeReal("join without a model's name", () => {
  test("follows a server that is restarted with another model, with one event", async () => {
    const first = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.join(first.url, ["--yes"]);
    expect((await lab.client.getParticipant(lab.code, "ada")).model).toBe("tiny");
    await using _other = await restart(lab, first, { alias: "other-model" });

    await until(
      "the new name",
      async () => (await lab.client.getParticipant(lab.code, "ada")).model,
      (model) => model === "other-model",
      30_000,
    );
    await lab.untilReadiness("ada", "ready");
    const answer = await lab.post("/chat/completions", { model: "other-model", ...short });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ model: "other-model" });
    const models = lab.events
      .of("participant.updated")
      .map(({ data }) => (data["participant"] as { model: string }).model);
    expect(models.filter((model, index) => model !== models[index - 1])).toEqual([
      "tiny",
      "other-model",
    ]);
  });

  test("names itself after a model's file without its folders and ending", async () => {
    await using llama = await startLlamaServer({ file: "words-1b-q4.gguf" });
    await using lab = await startLab();
    await using join = startRoomhub([
      ...["join", `${lab.url}/rooms/${lab.code}`, "--nickname", "Ada", "--yes"],
      ...["--endpoint", llama.url],
    ]);
    await join.line("that it is connected", ({ kind }) => kind === "connected");

    const [ada] = await lab.client.listParticipants(lab.code);
    expect(ada?.id).toBe("ada-words-1b-q4");
    const answer = await lab.post("/chat/completions", { model: "ada-words-1b-q4", ...short });
    expect(answer.status).toBe(200);
  });
});

/** Ends it, lets a request find that out, and starts it again in the same place. */
async function restart(
  lab: Lab,
  server: LlamaServer,
  options: LlamaServerOptions,
): Promise<LlamaServer> {
  await server.kill();
  const lost = await lab.post("/chat/completions", { model: "ada", ...short });
  // 503 where a look at the server came first.
  expect([502, 503]).toContain(lost.status);
  await lab.untilReadiness("ada", "down");
  return again(server, options);
}

async function again(server: LlamaServer, options: LlamaServerOptions): Promise<LlamaServer> {
  const { port } = server;
  await server[Symbol.asyncDispose]();
  return startLlamaServer({ ...options, port });
}
