import { describe, expect, test } from "vitest";
import { join, PATHS } from "../support/joining.ts";
import { LLAMA_MODEL, llamaRecording, startRecordedLlama } from "../support/recorded-llama.ts";
import { startTestHub, type TestHub } from "../support/start-test-hub.ts";
import { until } from "../support/waiting.ts";

/** What a real llama-server said, behind a hub. */

const messages = [{ role: "user", content: "hi" }];

/** Once what it can do is known. */
async function untilKnown(hub: TestHub, code: string): Promise<void> {
  await until(
    "its capabilities",
    () => hub.client.listParticipants(code),
    ([one]) => one?.capabilities["completions"] === "supported",
  );
}

describe.each(PATHS)("llama.cpp over %s", (path) => {
  test("streams chat byte for byte, timings included, and its tokens are counted", async () => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    await untilKnown(hub, code);
    const events = await hub.watch(code);
    const json = { model: "*", stream: true, messages };
    const answer = await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json });
    expect(await answer.text()).toBe(llamaRecording("chat-stream").body.toString());
    expect(llama.asked.at(-1)?.body).toEqual({ ...json, model: LLAMA_MODEL });
    const { data } = await events.next("llm.complete");
    expect(data).toMatchObject({
      metrics: { inputTokens: 30, outputTokens: 4, totalTokens: 34 },
    });
  });

  test("tells a client that asks for usage what it tells by itself", async () => {
    await using llama = await startRecordedLlama();
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: llama.url, model: LLAMA_MODEL });
    await untilKnown(hub, code);
    const stream_options = { include_usage: true };
    const json = { model: "*", stream: true, messages, stream_options };
    const answer = await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json });
    expect(await answer.text()).toBe(llamaRecording("chat-stream-usage").body.toString());
  });
});
