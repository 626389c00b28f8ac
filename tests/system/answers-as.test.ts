import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { join, PATHS } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startRoutedProvider } from "../support/providers/routed-provider.ts";
import { until } from "../support/waiting.ts";

const message = { role: "assistant", content: "hi" };

test.each(PATHS)(
  "a participant whose responses name another model is shown so, and served as before, over %s",
  async (path) => {
    await using server = await startRoutedProvider({
      "GET /models": () => ({ json: { object: "list", data: [{ id: "llama3" }] } }),
      "POST /chat/completions": () => ({
        json: { object: "chat.completion", model: "qwen3:8b", choices: [{ index: 0, message }] },
      }),
    });
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: server.url, model: "llama3" });
    const listed = () => hub.client.getParticipant(code, "ada");
    await until("its server", listed, ({ connection }) => connection.connected);
    expect(await listed()).not.toHaveProperty("answersAs");
    const ask = () =>
      hub.fetch(`/rooms/${code}/v1/chat/completions`, {
        json: { model: "llama3", messages: userSays("hello") },
      });
    const shown = await until(
      "the other name",
      async () => {
        const { status } = await ask();
        return { status, participant: await listed() };
      },
      ({ participant }) => participant.answersAs !== undefined,
    );
    expect(shown).toMatchObject({
      status: 200,
      participant: { model: "llama3", answersAs: "qwen3:8b" },
    });
    const [served] = (await hub.client.listModels(code)).map(({ service }) => service.model);
    expect(served).toBe("llama3");
    expect(await (await ask()).json()).toMatchObject({ model: "qwen3:8b" });
  },
);
