import { afterEach, expect, test, vi } from "vitest";
import { promptSender } from "./send-prompt.ts";

afterEach(() => void vi.unstubAllGlobals());

const address = { hubUrl: "http://hub", room: "ABC234" };
const sse = {
  ...{ "content-type": "text/event-stream", "x-request-id": "req_1" },
  ...{ "x-roomhub-participant": "z%C3%B6e-llama", "x-roomhub-model": "llama3" },
};

async function send(response: Response | Error) {
  const calls: [string, RequestInit][] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    calls.push([url, init]);
    if (response instanceof Error) throw response;
    return response;
  });
  const texts: string[] = [];
  const thoughts: string[] = [];
  const heads: object[] = [];
  const { signal } = new AbortController();
  const ended = promptSender(address)(
    { selector: "ada", messages: [{ role: "user", content: "why?" }], signal },
    {
      onText: (text) => texts.push(text),
      onReasoning: (text) => thoughts.push(text),
      onHead: (head) => heads.push(head),
    },
  ).then(
    () => "ended",
    (error: unknown) => (error as Error).message,
  );
  return { end: await ended, text: texts.join(""), thoughts: thoughts.join(""), heads, calls };
}

function chunk(delta: object): string {
  return `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`;
}

test("a prompt is a streaming chat request to the room, and its text comes in pieces", async () => {
  const deltas = [{ reasoning_content: "hm " }, { reasoning: "so" }, { content: "Why" }];
  const body = `${deltas.map(chunk).join("")}${chunk({ content: " not" })}data: [DONE]\n\n`;
  const { end, text, thoughts, heads, calls } = await send(new Response(body, { headers: sse }));
  expect({ end, text, thoughts }).toEqual({ end: "ended", text: "Why not", thoughts: "hm so" });
  const from = { participantId: "zöe-llama", model: "llama3" };
  expect(heads).toEqual([{ requestId: "req_1", from }]);
  const [url, init] = calls[0]!;
  expect(url).toBe("http://hub/rooms/ABC234/v1/chat/completions");
  expect(JSON.parse(init.body as string)).toMatchObject({
    ...{ model: "ada", stream: true, messages: [{ role: "user", content: "why?" }] },
  });
});

test("a stream without its end, and an error in it, are failures that keep the text", async () => {
  const cut = await send(new Response(chunk({ content: "Why" }), { headers: sse }));
  expect([cut.end, cut.text]).toEqual(["The response was cut off.", "Why"]);
  const body = `${chunk({ content: "Why" })}data: {"error":{"message":"it hung up"}}\n\n`;
  const broken = await send(new Response(body, { headers: sse }));
  expect([broken.end, broken.text]).toEqual(["it hung up", "Why"]);
});

test.each([
  ["try again shortly", "No participant. Next: try again shortly"],
  ["Share a model: roomhub join ABC234", "No participant."],
])(
  "a refusal is its message and its next step, unless that is a command: %s",
  async (hint, text) => {
    const error = { message: "No participant.", hint, code: "participant_offline" };
    const { end } = await send(Response.json({ error }, { status: 503 }));
    expect(end).toBe(text);
  },
);

test("a hub that cannot be reached is said in words", async () => {
  const { end } = await send(new TypeError("Failed to fetch"));
  expect(end).toBe("No connection to the hub at http://hub.");
});

test("a response that is no stream is shown at its end", async () => {
  const { end, text } = await send(
    Response.json({ choices: [{ message: { content: "Because" } }] }),
  );
  expect([end, text]).toEqual(["ended", "Because"]);
});
