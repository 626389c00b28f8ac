// Shares a cloud model under conditions of your own: the key stays here, and no response is longer than 1,000 tokens.
//   API_KEY=… node --conditions=@roomhub/source examples/capped-cloud-model.ts \
//     http://127.0.0.1:5050/rooms/ABC234 https://api.example.com/v1 big-1
import { parseInvite } from "@roomhub/client";
import { createParticipant } from "@roomhub/participant";

const [invite = "", endpoint = "", model = ""] = process.argv.slice(2);
const { hubUrl, room } = parseInvite(invite, "http://127.0.0.1:5050");

const participant = createParticipant({
  hubUrl,
  room,
  id: model,
  nickname: "Cloud",
  model,
  config: { maxConcurrency: 2 }, // a third request waits in the hub's queue
  serve: async (request) => {
    if (!request.url.endsWith("/chat/completions")) return new Response(null, { status: 404 });
    const asked = (await request.json()) as { max_tokens?: number };
    const capped = { ...asked, max_tokens: Math.min(asked.max_tokens ?? 1_000, 1_000) };
    return fetch(`${endpoint}/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${process.env["API_KEY"]}`,
      },
      body: JSON.stringify(capped),
      signal: request.signal, // a client that disconnects stops the generation
    });
  },
});
await participant.start();
process.stdout.write(`${model} is in the room; Ctrl+C takes it out\n`);
process.once("SIGINT", () => void participant.close());
await participant.stopped;
