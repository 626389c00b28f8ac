import type { Answer, Failure, Operations, Present, Target } from "../client.ts";

/** One HTTP exchange, however a program does it. */
export interface RawRequest {
  method: "GET" | "POST";
  url: string;
  body: object | undefined;
  /** Called for every line of an event stream; a result of `leave` closes the connection. */
  onLine: (line: string) => "go on" | "leave";
}

export interface RawAnswer {
  status: number;
  /** empty when it came in lines */
  body: string;
}

type Exchange = (request: RawRequest) => Promise<RawAnswer>;

/** A chat completion, loosely: what is read here. */
interface Completion {
  choices: { message: Message }[];
  usage?: Usage;
}
interface Message {
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}
interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}
interface Chunk {
  choices: { delta: { content?: string | null } }[];
  usage?: Usage | null;
}

/** Chat without an SDK: JSON in, JSON or `data:` lines out. */
export function rawChatOperations(exchange: Exchange): Present<Operations> {
  async function post(target: Target, body: object): Promise<Completion> {
    const answer = await exchange(chatRequest(target, body));
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.body}`);
    return JSON.parse(answer.body) as Completion;
  }

  return {
    async listModels({ baseUrl }) {
      const url = `${baseUrl}/models`;
      const { body } = await exchange({ method: "GET", url, body: undefined, onLine: goOn });
      return (JSON.parse(body) as { data: { id: string }[] }).data.map(({ id }) => id);
    },

    async ask(target, prompt) {
      const { choices, usage } = await post(target, { messages: userSays(prompt) });
      return { text: choices[0]?.message.content ?? "", usage: usageOf(usage) };
    },

    async stream(target, prompt, { onText, signal }) {
      const answer: Answer = { text: "", usage: undefined };
      await exchange({
        ...chatRequest(target, {
          messages: userSays(prompt),
          stream: true,
          stream_options: { include_usage: true },
        }),
        onLine(line) {
          if (!line.startsWith("data: ") || line === "data: [DONE]") return "go on";
          const { choices, usage } = JSON.parse(line.slice("data: ".length)) as Chunk;
          const text = choices[0]?.delta.content ?? "";
          if (text !== "") onText(text);
          answer.text += text;
          answer.usage = usageOf(usage) ?? answer.usage;
          return signal.aborted ? "leave" : "go on";
        },
      });
      return answer;
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      const tools = [{ type: "function", function: { name, description, parameters } }];
      const first = await post(target, { messages: userSays(prompt), tools });
      const message = first.choices[0]?.message;
      const results: object[] = [];
      for (const { id, function: call } of message?.tool_calls ?? []) {
        const content = await run(JSON.parse(call.arguments));
        results.push({ role: "tool", tool_call_id: id, content });
      }
      const messages = [...userSays(prompt), message, ...results];
      return (await post(target, { messages, tools })).choices[0]?.message.content ?? "";
    },

    async askForJson(target, prompt, schema) {
      const { choices } = await post(target, {
        messages: userSays(prompt),
        response_format: { type: "json_schema", json_schema: { name: "weather", schema } },
      });
      return JSON.parse(choices[0]?.message.content ?? "") as unknown;
    },

    async askAboutImage(target, prompt, image) {
      const content = [
        { type: "text", text: prompt },
        { type: "image_url", image_url: { url: image } },
      ];
      const { choices } = await post(target, { messages: [{ role: "user", content }] });
      return choices[0]?.message.content ?? "";
    },

    async fail(target, model, prompt): Promise<Failure> {
      const { status, body } = await exchange(
        chatRequest({ ...target, model }, { messages: userSays(prompt) }),
      );
      const { error } = JSON.parse(body) as { error: { code: string; message: string } };
      return { status, code: error.code, message: error.message };
    },
  };
}

function chatRequest({ baseUrl, model }: Target, body: object): RawRequest {
  const url = `${baseUrl}/chat/completions`;
  return { method: "POST", url, body: { model, ...body }, onLine: goOn };
}

function goOn(): "go on" {
  return "go on";
}

function userSays(content: string): object[] {
  return [{ role: "user", content }];
}

function usageOf(usage: Usage | null | undefined): Answer["usage"] {
  if (usage === null || usage === undefined) return undefined;
  return { inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens };
}
