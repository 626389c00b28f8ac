import type { ChatCompletionTool } from "openai/resources/chat/completions";
import { expect, test } from "vitest";
import { PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { describeReal } from "./binary.ts";
import { startLab } from "./lab.ts";
import { startLlamaServer } from "./llama-server.ts";

const parameters = {
  type: "object" as const,
  properties: { city: { enum: ["Rome", "Oslo"] } },
  required: ["city"],
  additionalProperties: false,
};
const chatTool: ChatCompletionTool = {
  type: "function",
  function: { name: "get_weather", description: "Weather of a city", parameters },
};

describeReal.for(PATHS)("tools by %s", (path) => {
  test("a chat's call is made, plain and streamed, and its result goes back", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const request = {
      model: "*",
      messages: userSays("weather?"),
      tools: [chatTool],
      tool_choice: "required" as const,
      max_tokens: 4_000,
    };

    const plain = await lab.openai.chat.completions.create({ ...request });
    const streamed = await lab.openai.chat.completions.stream({ ...request }).finalChatCompletion();

    for (const { choices } of [plain, streamed]) {
      const [call] = choices[0]?.message.tool_calls ?? [];
      expect(choices[0]?.finish_reason).toBe("tool_calls");
      expect(call).toMatchObject({ type: "function", function: { name: "get_weather" } });
      expect(cityOf(call)).toMatch(/^(Rome|Oslo)$/);
    }

    const asked = plain.choices[0]?.message;
    if (asked === undefined) throw new Error("no message");
    const second = await lab.openai.chat.completions.create({
      model: "*",
      messages: [
        ...request.messages,
        asked,
        { role: "tool", tool_call_id: asked.tool_calls?.[0]?.id ?? "", content: "sunny" },
      ],
      tools: [chatTool],
      tool_choice: "none",
      max_tokens: 10,
    });
    expect(second.choices[0]?.message.content).not.toBe("");
  });

  test("a message's call is made, plain and streamed", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const request = {
      model: "*",
      messages: userSays("weather?"),
      tools: [{ name: "get_weather", input_schema: parameters }],
      tool_choice: { type: "any" as const },
      max_tokens: 4_000,
    };

    const plain = await lab.anthropic.messages.create(request);
    const streamed = await lab.anthropic.messages.stream(request).finalMessage();

    for (const { content, stop_reason } of [plain, streamed]) {
      expect(stop_reason).toBe("tool_use");
      expect(content.find(({ type }) => type === "tool_use")).toMatchObject({
        name: "get_weather",
        input: { city: expect.stringMatching(/^(Rome|Oslo)$/) as string },
      });
    }
  });
});

function cityOf(call: unknown): string {
  const { function: called } = call as { function: { arguments: string } };
  return (JSON.parse(called.arguments) as { city: string }).city;
}
