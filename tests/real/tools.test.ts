import type { ChatCompletionTool } from "openai/resources/chat/completions";
import type { Response, ResponseFunctionToolCall } from "openai/resources/responses/responses";
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

    const made = plain.choices[0]?.message;
    if (made === undefined) throw new Error("no message");
    const second = await lab.openai.chat.completions.create({
      model: "*",
      messages: [
        ...request.messages,
        made,
        { role: "tool", tool_call_id: made.tool_calls?.[0]?.id ?? "", content: "sunny" },
      ],
      tools: [chatTool],
      tool_choice: "none",
      max_tokens: 10,
    });
    expect(second.choices[0]?.message.content).not.toBe("");
  });

  test("a response's call is made, plain and streamed, and its result goes back", async () => {
    await using llama = await startLlamaServer({ alias: "tiny" });
    await using lab = await startLab();
    await using _ada = await lab.bring(path, llama.url);
    const tools = [{ type: "function" as const, name: "get_weather", parameters, strict: false }];
    const request = {
      model: "*",
      input: "weather?",
      tools,
      tool_choice: "required",
      max_output_tokens: 4_000,
    } as const;

    const plain = await lab.openai.responses.create({ ...request });
    const streamed = await lab.openai.responses.stream({ ...request }).finalResponse();

    for (const response of [plain, streamed]) {
      const call = callIn(response);
      expect(call).toMatchObject({ name: "get_weather", status: "completed" });
      expect(JSON.parse(call?.arguments ?? "")).toEqual({
        city: expect.stringMatching(/^(Rome|Oslo)$/),
      });
    }

    const call = callIn(plain);
    const second = await lab.openai.responses.create({
      model: "*",
      input: [
        { role: "user", content: "weather?" },
        {
          type: "function_call",
          call_id: call?.call_id ?? "",
          name: "get_weather",
          arguments: call?.arguments ?? "",
        },
        { type: "function_call_output", call_id: call?.call_id ?? "", output: "sunny" },
      ],
      tools,
      tool_choice: "none",
      max_output_tokens: 10,
    });
    expect(second.output_text).not.toBe("");
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

function callIn({ output }: Response): ResponseFunctionToolCall | undefined {
  return output.find((item): item is ResponseFunctionToolCall => item.type === "function_call");
}

function cityOf(call: unknown): string {
  const { function: called } = call as { function: { arguments: string } };
  return (JSON.parse(called.arguments) as { city: string }).city;
}
