import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";
import { ANY_KEY } from "./client.ts";
import { failureOf } from "./clients/openai-operations.ts";
import { recordingsOf } from "./providers/recordings.ts";
import { frameOf, startReplayServer } from "./providers/replay-server.ts";
import { askFor, RECORDED } from "./providers/requests.ts";
import { REFUSAL_WORD, REFUSED_PROMPT, SCRIPT } from "./providers/script.ts";
import { llamaServer, SHAPES, withoutResponses } from "./providers/shapes.ts";
import { atHub, openRoom, type SetupRoom } from "./setups.ts";

/** The fields of a room's models that are checked. */
interface Listing {
  data: { service: { capabilities: Record<string, string> } }[];
}

const messages = [{ role: "user" as const, content: "What should I wear in Oslo?" }];
const { name } = SCRIPT.toolCall;
const parameters = { type: "object", properties: { city: { type: "string" } } };

describe.each(SHAPES)("behind the hub, $name", (shape) => {
  const recordings = recordingsOf(shape);
  const stack = new AsyncDisposableStack();
  const rooms = {} as { native: SetupRoom; translated: SetupRoom };
  beforeAll(async () => {
    const hub = stack.use(await startTestHub());
    const native = stack.use(await startReplayServer(shape));
    const lesser = shape === llamaServer ? shape : withoutResponses(shape);
    const translated = stack.use(await startReplayServer(lesser));
    const own = { responses: "native" } as const;
    const direct = { path: "direct", isTranslated: false } as const;
    const tunnel = { path: "tunnel", isTranslated: true } as const;
    rooms.native = await openRoom(hub, atHub(hub.url), direct, native, stack, own);
    rooms.translated = await openRoom(hub, atHub(hub.url), tunnel, translated, stack);
  });
  afterAll(() => stack.disposeAsync());

  describe.each(RECORDED)("$dialect, $scene", ({ dialect, scene }) => {
    const isServed = dialect !== "messages" || shape.surfaces.includes("messages");
    const isRecorded = isServed && recordings.has(dialect, scene);
    const reason = isServed
      ? `no such recording of ${shape.name}`
      : `${shape.name} has no /messages`;

    test("responds byte for byte as without a hub", async ({ skip }) => {
      if (!isRecorded) return skip(reason);
      const answer = await askFor(rooms.native.target.baseUrl, dialect, scene, false);
      expect(answer).toBe(recordings.of(dialect, scene).json);
    });

    test("streams byte for byte as without a hub", async ({ skip }) => {
      if (!isRecorded) return skip(reason);
      const { events } = recordings.of(dialect, scene);
      const frames = events.map((event) => frameOf(shape, dialect, event));
      expect(await askFor(rooms.native.target.baseUrl, dialect, scene, true)).toBe(frames.join(""));
    });
  });

  test("is listed as serving both protocols, one of them by translation", async () => {
    for (const { target } of [rooms.native, rooms.translated]) {
      await until(
        "its capabilities",
        async () => (await (await fetch(`${target.baseUrl}/models`)).json()) as Listing,
        ({ data: [entry] }) =>
          entry?.service.capabilities.chatCompletions === "supported" &&
          entry.service.capabilities.openResponses === "supported",
      );
    }
  });

  test("sends no chunk without a choice to a client that did not request usage", async () => {
    const stream = await connect(rooms.native).chat.completions.create({
      model: "*",
      messages,
      stream: true,
    });
    let text = "";
    for await (const { choices } of stream) {
      expect(choices).toHaveLength(1);
      text += choices[0]?.delta.content ?? "";
    }
    expect(text).toBe(SCRIPT.text);
  });

  test("embeds a text", async ({ skip }) => {
    if (!shape.surfaces.includes("embeddings")) return skip(`${shape.name} was recorded without`);
    const { data } = await connect(rooms.native).embeddings.create({
      model: "*",
      input: "Oslo",
      encoding_format: "float",
    });
    expect(data[0]?.embedding).toEqual([0.25, -0.5, 0.125, 1]);
  });

  test("refuses with a message that reaches the client", async () => {
    for (const room of [rooms.native, rooms.translated]) {
      const asking = { model: "*", input: REFUSED_PROMPT };
      const failure = await failureOf(connect(room).responses.create(asking));
      expect(failure.status).toBe(400);
      expect(failure.message).toContain(REFUSAL_WORD);
    }
  });

  describe("with a chat request", () => {
    test("responds with text, reasoning and usage", async () => {
      const { choices, usage } = await connect(rooms.native).chat.completions.create({
        model: "*",
        messages,
      });
      const { [shape.thoughtField ?? "none"]: thought, ...message } = loose(choices[0]?.message);
      expect(message["content"]).toBe(SCRIPT.text);
      expect(thought).toBe(shape.thoughtField && SCRIPT.thought);
      expect(usage?.prompt_tokens).toBe(shape.says.usage.inputTokens);
      expect(usage?.completion_tokens).toBe(shape.says.usage.outputTokens);
    });

    test("streams text, reasoning and usage", async () => {
      const stream = await connect(rooms.native).chat.completions.create({
        model: "*",
        messages,
        stream: true,
        stream_options: { include_usage: true },
      });
      const told = { text: "", thought: "", outputTokens: 0 };
      for await (const { choices, usage } of stream) {
        const delta = loose(choices[0]?.delta);
        told.text += delta["content"] ?? "";
        told.thought += delta[shape.thoughtField ?? "none"] ?? "";
        told.outputTokens += usage?.completion_tokens ?? 0;
      }
      expect(told).toEqual({
        text: SCRIPT.text,
        thought: shape.thoughtField === undefined ? "" : SCRIPT.thought,
        outputTokens: shape.says.usage.outputTokens,
      });
    });

    test("calls a tool, in a stream and at once", async () => {
      const tools = [{ type: "function" as const, function: { name, parameters } }];
      const openai = connect(rooms.native);
      const streamed = await openai.chat.completions
        .stream({ model: "*", messages, tools })
        .finalChatCompletion();
      const whole = await openai.chat.completions.create({ model: "*", messages, tools });
      for (const { choices } of [streamed, whole]) {
        const [call] = choices[0]?.message.tool_calls ?? [];
        if (call?.type !== "function") throw new Error("no call");
        expect(call.function.name).toBe(name);
        expect(JSON.parse(call.function.arguments)).toEqual(SCRIPT.toolCall.arguments);
      }
    });
  });

  describe.each(["native", "translated"] as const)("with a request for responses, %s", (kind) => {
    const thought = kind === "native" || shape.thoughtField !== undefined ? SCRIPT.thought : "";

    test("responds with text, reasoning and usage", async () => {
      const response = await connect(rooms[kind]).responses.create({ model: "*", input: messages });
      expect(response).toMatchObject({ status: "completed", output_text: SCRIPT.text });
      expect(response.usage?.input_tokens).toBe(shape.says.usage.inputTokens);
      expect(response.usage?.output_tokens).toBe(shape.says.usage.outputTokens);
      const thoughts = response.output.filter(({ type }) => type === "reasoning");
      expect(JSON.stringify(thoughts)).toContain(thought);
      rooms[kind].checkAnswers();
    });

    test("streams text, reasoning and usage", async () => {
      const stream = await connect(rooms[kind]).responses.create({
        model: "*",
        input: messages,
        stream: true,
      });
      const told = { text: "", thought: "", outputTokens: 0 };
      for await (const event of stream) {
        if (event.type === "response.output_text.delta") told.text += event.delta;
        if (event.type === "response.reasoning_text.delta") told.thought += event.delta;
        if (event.type === "response.reasoning_summary_text.delta") told.thought += event.delta;
        if (event.type === "response.completed")
          told.outputTokens = event.response.usage?.output_tokens ?? 0;
      }
      const { outputTokens } = shape.says.usage;
      expect(told).toEqual({ text: SCRIPT.text, thought, outputTokens });
      rooms[kind].checkAnswers();
    });

    test("calls a tool, in a stream and at once", async () => {
      const tools = [{ type: "function" as const, name, parameters, strict: false }];
      const body = { model: "*", input: messages, tools };
      const openai = connect(rooms[kind]);
      const items = [...(await openai.responses.create(body)).output];
      for await (const event of await openai.responses.create({ ...body, stream: true })) {
        if (event.type === "response.output_item.done") items.push(event.item);
      }
      expect(items).toHaveLength(2);
      for (const call of items) {
        if (call.type !== "function_call") throw new Error("no call");
        expect(call.name).toBe(name);
        expect(JSON.parse(call.arguments)).toEqual(SCRIPT.toolCall.arguments);
        expect(call.call_id).toMatch(/^\S+$/);
      }
      rooms[kind].checkAnswers();
    });
  });
});

/** Reasoning is in fields the package has no types for. */
function loose(value: object | undefined): Record<string, string | null | undefined> {
  return { ...value };
}

function connect({ target }: SetupRoom): OpenAI {
  return new OpenAI({ baseURL: target.baseUrl, apiKey: ANY_KEY, fetch: target.fetch });
}
