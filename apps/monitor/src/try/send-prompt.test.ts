import { afterEach, expect, test, vi } from "vitest";
import { promptSender } from "./send-prompt.ts";

afterEach(() => void vi.unstubAllGlobals());

const address = { hubUrl: "http://hub", room: "ABC234" };
const sse = { "content-type": "text/event-stream", "x-request-id": "req_1" };

async function send(response: Response) {
  const calls: [string, RequestInit][] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    calls.push([url, init]);
    return response;
  });
  const texts: string[] = [];
  const ids: string[] = [];
  const { signal } = new AbortController();
  const ended = promptSender(address)(
    { selector: "ada", prompt: "why?", signal },
    { onText: (text) => texts.push(text), onRequestId: (id) => ids.push(id) },
  ).then(
    () => "ended",
    (error: unknown) => (error as Error).message,
  );
  return { end: await ended, text: texts.join(""), ids, calls };
}

function chunk(delta: object): string {
  return `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`;
}

test("a prompt is a streaming chat request to the room, and its text comes in pieces", async () => {
  const body = `${chunk({ reasoning_content: "hm " })}${chunk({ content: "Why" })}${chunk({ content: " not" })}data: [DONE]\n\n`;
  const { end, text, ids, calls } = await send(new Response(body, { headers: sse }));
  expect({ end, text, ids }).toEqual({ end: "ended", text: "hm Why not", ids: ["req_1"] });
  const [url, init] = calls[0]!;
  expect(url).toBe("http://hub/rooms/ABC234/v1/chat/completions");
  expect(JSON.parse(init.body as string)).toMatchObject({ model: "ada", stream: true });
});

test("a stream without its end, and an error in it, are failures that keep the text", async () => {
  const cut = await send(new Response(chunk({ content: "Why" }), { headers: sse }));
  expect([cut.end, cut.text]).toEqual(["The response was cut off", "Why"]);
  const body = `${chunk({ content: "Why" })}data: {"error":{"message":"it hung up"}}\n\n`;
  const broken = await send(new Response(body, { headers: sse }));
  expect([broken.end, broken.text]).toEqual(["it hung up", "Why"]);
});

test("a refusal is its message and its next step", async () => {
  const error = { message: "No participant.", hint: "join one", code: "participant_offline" };
  const { end } = await send(Response.json({ error }, { status: 503 }));
  expect(end).toBe("No participant. Next: join one");
});

test("a response that is no stream is shown at its end", async () => {
  const { end, text } = await send(
    Response.json({ choices: [{ message: { content: "Because" } }] }),
  );
  expect([end, text]).toEqual(["ended", "Because"]);
});
