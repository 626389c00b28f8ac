import { type RoutedAnswer, startRoutedProvider } from "./routed-provider.ts";

/** A model server whose responses to the model list and to chats a test sets, from the next request on. */
export interface MoodyProvider extends AsyncDisposable {
  readonly url: string;
  /** status of the model list; 200 lists {@link models} */
  list: number;
  models: string[];
  /** status of each next chat, then of all that follow; `loads` is a 503 that says so */
  chat: Mood[];
  readonly listCount: number;
  readonly chatCount: number;
}

type Mood = number | "loads";

export async function startMoodyProvider(
  moods: { list?: number; chat?: Mood[] } = {},
): Promise<MoodyProvider> {
  const provider = await startRoutedProvider({
    "GET /models": () => (moody.list === 200 ? listOf(moody.models) : failure(moody.list)),
    "POST /chat/completions": ({ body }) => {
      const [status = 200, ...later] = moody.chat;
      if (later.length > 0) moody.chat = later;
      return status === 200 ? answerTo(body) : failure(status);
    },
  });
  const countOf = (method: string) =>
    provider.requests.filter((request) => request.method === method).length;
  const moody = {
    url: provider.url,
    list: moods.list ?? 200,
    models: ["fake-model"],
    chat: moods.chat ?? [200],
    get listCount() {
      return countOf("GET");
    },
    get chatCount() {
      return countOf("POST");
    },
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
  return moody;
}

function listOf(models: string[]): RoutedAnswer {
  return { json: { object: "list", data: models.map((id) => ({ id, object: "model" })) } };
}

function failure(mood: Mood): RoutedAnswer {
  const [status, message] = mood === "loads" ? [503, "Loading model"] : [mood, "scripted"];
  return { status, json: { error: { message, type: "t", code: status } } };
}

const chunk = { object: "chat.completion.chunk", id: "c", created: 1, model: "fake-model" };

function answerTo(body: string): RoutedAnswer {
  const isStream = (JSON.parse(body) as { stream?: boolean }).stream === true;
  const message = { role: "assistant", content: "hello" };
  if (!isStream) {
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    return { json: { ...chunk, object: "chat.completion", choices } };
  }
  const choices = [{ index: 0, delta: message, finish_reason: "stop" }];
  return { stream: `data: ${JSON.stringify({ ...chunk, choices })}\n\ndata: [DONE]\n\n` };
}
