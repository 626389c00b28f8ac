// Shares a model that is a function of this program: no model server, no port.
//   node --conditions=@roomhub/source examples/embed-participant.ts http://127.0.0.1:5050/rooms/ABC234
import { setTimeout as pause } from "node:timers/promises";
import { parseInvite } from "@roomhub/client";
import { createParticipant } from "@roomhub/participant";

const { hubUrl, room } = parseInvite(process.argv[2] ?? "", "http://127.0.0.1:5050");

const participant = createParticipant({
  hubUrl,
  room,
  id: "parrot",
  nickname: "Parrot",
  model: "parrot-1",
  serve: async (request) => {
    // Requests to /responses are served too: they are translated to chat completions.
    if (!request.url.endsWith("/chat/completions")) return new Response(null, { status: 404 });
    type Asked = { messages: { content: string }[]; stream?: boolean };
    const { messages, stream } = (await request.json()) as Asked;
    const said = messages.at(-1)?.content ?? "";
    if (stream !== true) return Response.json(chat("chat.completion", { message: reply(said) }));
    const pieces = words(said, request.signal);
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(new TextEncoder().encode(`data: ${value}\n\n`));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  },
});
await participant.start();
process.stdout.write("parrot-1 is in the room; Ctrl+C takes it out\n");
process.once("SIGINT", () => void participant.close());
await participant.stopped;

/** The model: repeats the words, one by one, until the client disconnects. */
async function* words(said: string, signal: AbortSignal): AsyncGenerator<string> {
  for (const word of said.split(/(?<= )/)) {
    yield JSON.stringify(
      chat("chat.completion.chunk", { delta: reply(word), finish_reason: null }),
    );
    await pause(50, undefined, { signal });
  }
  yield JSON.stringify(chat("chat.completion.chunk", { delta: {} }));
  yield "[DONE]";
}

function reply(content: string): object {
  return { role: "assistant", content };
}

function chat(object: string, choice: object): object {
  const created = Math.floor(Date.now() / 1_000);
  const choices = [{ index: 0, finish_reason: "stop", ...choice }];
  return { id: "chatcmpl-parrot", object, created, model: "parrot-1", choices };
}
