import { expect, test } from "vitest";
import { ModelServer } from "../model-server.ts";
import { listen, type Reply, scriptServer } from "../scripted-server.fixture.ts";

interface ChatBody {
  messages: Record<string, unknown>[];
  stream_options?: object;
}

type ChatReply = (body: ChatBody) => Reply | undefined;

/** A server of chat alone. @param response - undefined when it takes the request, and thinks in `reasoningField` */
function start(reply: ChatReply, reasoningField?: string) {
  const bodies: ChatBody[] = [];
  const provider = scriptServer(({ line, body }) => {
    if (line === "GET /v1/models") return { body: '{"data":[{"id":"m"}]}' };
    if (line !== "POST /v1/chat/completions" || body === "{}") return undefined;
    const requested = JSON.parse(body) as ChatBody;
    bodies.push(requested);
    const thought = reasoningField === undefined ? {} : { [reasoningField]: "hm" };
    const taken = "stream_options" in requested ? streamOf(thought) : completionOf(thought);
    return reply(requested) ?? taken;
  });
  const server = new ModelServer({
    call: provider.call,
    baseUrl: "http://127.0.0.1:5000/v1",
    headers: () => ({}),
    declared: () => ({ openResponses: "unsupported" }),
    onCapabilities: () => {},
  });
  return { server, bodies };
}

function completionOf(thought: object): Reply {
  const message = { role: "assistant", content: "4", ...thought };
  return { body: JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }) };
}

function streamOf(thought: object): Reply {
  const chunk = {
    choices: [{ index: 0, delta: { content: "4", ...thought }, finish_reason: "stop" }],
  };
  return { type: "event-stream", body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n` };
}

async function send(server: ModelServer, more: object = {}) {
  const body = [Buffer.from(JSON.stringify({ model: "m", input: "2+2?", ...more }))];
  const heard = listen(server, { body });
  await heard.closed;
  return heard;
}

const thought = { type: "reasoning", summary: [{ type: "summary_text", text: "Simple." }] };
const secondTurn = {
  input: [{ role: "user", content: "2+2?" }, thought, { role: "assistant", content: "4" }],
};

/** The names under which each request carried the thought. */
function namesIn(bodies: ChatBody[]): string[] {
  const names = ["reasoning_content", "reasoning"];
  return bodies.map(({ messages }) =>
    names.filter((name) => messages.some((message) => message[name] === "Simple.")).join(),
  );
}

/** As Cerebras refuses what it does not know. */
function refuses(...names: string[]): ChatReply {
  return ({ messages }) => {
    const name = names.find((name) => messages.some((message) => name in message));
    const error = `messages.1.assistant.${name}: property 'messages.1.assistant.${name}' is unsupported`;
    return name === undefined
      ? undefined
      : { status: 400, body: JSON.stringify({ message: error }) };
  };
}

const takesAll: ChatReply = () => undefined;

test.each(["reasoning", "reasoning_content"])(
  "reasoning is sent back under the name that the server itself used, %s, in a response or a stream",
  async (name) => {
    for (const stream of [false, true]) {
      const { server, bodies } = start(takesAll, name);
      await send(server, { stream });
      await send(server, secondTurn);
      expect(namesIn(bodies)).toEqual(["", name]);
    }
  },
);

test("reasoning is sent back as reasoning_content to a server that never sent any", async () => {
  const { server, bodies } = start(takesAll);
  await send(server, secondTurn);
  expect(namesIn(bodies)).toEqual(["reasoning_content"]);
});

test("a server that refuses one name gets the other, and from then on at once", async () => {
  const { server, bodies } = start(refuses("reasoning_content"));
  for (let count = 0; count < 2; count++) {
    expect((await send(server, secondTurn)).status).toBe(200);
  }
  expect(namesIn(bodies)).toEqual(["reasoning_content", "reasoning", "reasoning"]);
});

test("a server that refuses both names gets none, also when it thinks aloud itself", async () => {
  const { server, bodies } = start(refuses("reasoning_content", "reasoning"), "reasoning");
  for (let count = 0; count < 2; count++) {
    expect((await send(server, secondTurn)).status).toBe(200);
  }
  expect(namesIn(bodies)).toEqual(["reasoning_content", "reasoning", "", ""]);
});

test("where reasoning is not accepted, a message of nothing else is left out", async () => {
  const { server, bodies } = start(refuses("reasoning_content", "reasoning"));
  await send(server, {
    input: [{ role: "user", content: "2+2?" }, thought, { role: "user", content: "?" }],
  });
  expect(bodies.at(-1)?.messages).toEqual([
    { role: "user", content: "2+2?" },
    { role: "user", content: "?" },
  ]);
});

test.each<[string, object]>([
  [
    "the request",
    { loc: ["body", "n"], msg: "too large", input: { reasoning_content: "Simple." } },
  ],
  ["a word of its own", { message: "reasoning_content_length and reasoning_effort are odd" }],
])("a refusal that names reasoning only in %s passes after one try", async (_where, error) => {
  const { server, bodies } = start(() => ({ status: 422, body: JSON.stringify(error) }));
  expect((await send(server, secondTurn)).status).toBe(422);
  expect(bodies).toHaveLength(1);
});

test("what the other name did not help is not remembered", async () => {
  const isUp = { value: false };
  const { server, bodies } = start((body) => {
    const refusal = refuses("reasoning_content")(body);
    return isUp.value ? undefined : (refusal ?? { status: 503, body: "{}" });
  });
  expect((await send(server, secondTurn)).status).toBe(503);
  isUp.value = true;
  await send(server, secondTurn);
  expect(namesIn(bodies)).toEqual(["reasoning_content", "reasoning", "reasoning_content"]);
});

test("stream_options and both names are given up one by one, and remembered together", async () => {
  const refusesReasoning = refuses("reasoning_content", "reasoning");
  const { server, bodies } = start((body) =>
    body.stream_options === undefined
      ? refusesReasoning(body)
      : { status: 400, body: '{"error":"unknown field stream_options"}' },
  );
  for (let count = 0; count < 2; count++) {
    expect((await send(server, { ...secondTurn, stream: true })).status).toBe(200);
  }
  expect(bodies.map((body) => "stream_options" in body)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
  expect(namesIn(bodies)).toEqual(["reasoning_content", "reasoning_content", "reasoning", "", ""]);
});

test("stream_options that are refused with and without them are sent again", async () => {
  const refusal = { status: 400, body: '{"error":"include_usage is odd, and so is n"}' };
  const { server, bodies } = start(({ stream_options: options }) =>
    options === undefined || bodies.length < 3 ? refusal : undefined,
  );
  expect((await send(server, { stream: true })).status).toBe(400);
  expect(server.capabilities.streamUsage).toBeUndefined();
  await send(server, { stream: true });
  expect(bodies.map((body) => "stream_options" in body)).toEqual([true, false, true]);
  expect(server.capabilities.streamUsage).toBe("supported");
});

test("a client's mistake that the server answers with the whole request leaves stream usage on", async () => {
  const { server } = start((body) => {
    if (!("top_logprobs" in body)) return undefined;
    const sent = JSON.stringify(body).replaceAll('"', "'");
    const error = `[{'loc': ('body',), 'msg': '\`top_logprobs\` must be positive', 'input': ${sent}}]`;
    return { status: 400, body: JSON.stringify({ object: "error", message: error }) };
  });
  await send(server, { stream: true });
  expect((await send(server, { stream: true, top_logprobs: -1 })).status).toBe(400);
  const mistake = { model: "m", top_logprobs: -1, stream_options: { include_usage: true } };
  await listen(server, {
    path: "/chat/completions",
    body: [Buffer.from(JSON.stringify({ ...mistake, messages: [] }))],
  }).closed;
  expect(server.capabilities.streamUsage).toBe("supported");
});
