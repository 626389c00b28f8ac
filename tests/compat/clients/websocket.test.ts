import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import {
  ANY_KEY,
  type Answer,
  type JsonSchema,
  lacking,
  type StreamListener,
  type Target,
} from "../client.ts";
import { describeClient } from "../describe-client.ts";

type Turn = Pick<
  OpenAI.Responses.ResponseCreateParams,
  "input" | "tools" | "text" | "previous_response_id"
>;

describeClient({
  name: "openai, ResponsesWS",
  speaks: "responses",
  does: {
    listModels: lacking("models are listed over HTTP"),

    async ask(target, prompt) {
      using conversation = new Conversation(target);
      return answerOf(await conversation.turn({ input: prompt }));
    },

    async stream(target, prompt, listener) {
      using conversation = new Conversation(target, listener);
      return answerOf(await conversation.turn({ input: prompt }));
    },

    async useTool(target, prompt, { name, description, parameters, run }) {
      using conversation = new Conversation(target);
      const tools = [functionTool(name, description, parameters)];
      const first = await conversation.turn({ input: prompt, tools });
      const input: OpenAI.Responses.ResponseInput = [];
      for (const item of first.output) {
        if (item.type !== "function_call") continue;
        const output = await run(JSON.parse(item.arguments));
        input.push({ type: "function_call_output", call_id: item.call_id, output });
      }
      // The previous turn is kept on this socket, nothing is stored.
      const turn = { input, tools, previous_response_id: first.id };
      return answerOf(await conversation.turn(turn)).text;
    },

    async askForJson(target, prompt, schema) {
      using conversation = new Conversation(target);
      const format = { type: "json_schema" as const, name: "weather", schema: { ...schema } };
      const response = await conversation.turn({ input: prompt, text: { format } });
      return JSON.parse(answerOf(response).text) as unknown;
    },

    async askAboutImage(target, prompt, image) {
      using conversation = new Conversation(target);
      const response = await conversation.turn({
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: prompt },
              { type: "input_image", image_url: image, detail: "auto" },
            ],
          },
        ],
      });
      return answerOf(response).text;
    },

    async fail(target, model, prompt) {
      using conversation = new Conversation({ ...target, model });
      const { status, error } = await conversation.refusedTurn({ input: prompt });
      return { status, code: error.code ?? undefined, message: error.message };
    },
  },
});

interface Refusal {
  status: number | undefined;
  error: { code?: string | null; message: string };
}

/** One socket, one turn after the other. */
class Conversation implements Disposable {
  readonly #socket: ResponsesWS;
  readonly #messages: ReturnType<ResponsesWS["stream"]>;
  readonly #model: string;
  readonly #listener: StreamListener | undefined;

  constructor({ baseUrl, model }: Target, listener?: StreamListener) {
    this.#socket = new ResponsesWS(new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY }));
    this.#messages = this.#socket.stream();
    this.#model = model;
    this.#listener = listener;
  }

  /** @throws Error with the server's response, when it refuses */
  async turn(turn: Turn): Promise<OpenAI.Responses.Response> {
    const end = await this.#end(turn);
    if ("error" in end) throw new Error(end.error.message);
    return end.response;
  }

  async refusedTurn(turn: Turn): Promise<Refusal> {
    const end = await this.#end(turn);
    if ("response" in end) throw new Error("the turn was answered");
    return end;
  }

  async #end(turn: Turn): Promise<{ response: OpenAI.Responses.Response } | Refusal> {
    this.#socket.send({ type: "response.create", model: this.#model, store: false, ...turn });
    for (;;) {
      const { value, done } = await this.#messages.next();
      if (done === true) throw new Error("the socket closed in the middle of a turn");
      if (value.type === "error") return refusalIn(value.error);
      if (value.type !== "message") continue;
      const event = value.message;
      if (event.type === "response.output_text.delta") {
        this.#listener?.onText(event.delta);
        this.#listener?.signal.throwIfAborted();
      }
      if (event.type === "response.completed") return event;
    }
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

/** The message of the server is inside the error the package makes of it. */
function refusalIn(error: Error & { error?: unknown }): Refusal {
  if (error.error === undefined) throw error;
  return error.error as Refusal;
}

function functionTool(name: string, description: string, parameters: JsonSchema) {
  const type = "function" as const;
  return { type, name, description, parameters: { ...parameters }, strict: true };
}

function answerOf({ output, usage }: OpenAI.Responses.Response): Answer {
  const parts = output.flatMap((item) => (item.type === "message" ? item.content : []));
  const text = parts.map((part) => (part.type === "output_text" ? part.text : "")).join("");
  const counts = usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens };
  return { text, usage: counts ?? undefined };
}
