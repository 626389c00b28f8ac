// Streams a response with Anthropic's SDK, from a participant whose model server has /messages (vLLM, llama.cpp, Ollama, …).
//   node --conditions=@roomhub/source examples/anthropic-sdk.ts http://127.0.0.1:5050/rooms/ABC234 "Why is the sky blue?"
import Anthropic from "@anthropic-ai/sdk";
import { anthropicOptions, openRoom } from "@roomhub/client";

const [invite = "", prompt = "Why is the sky blue?"] = process.argv.slice(2);

const room = await openRoom(invite);
const anthropic = new Anthropic(anthropicOptions(room));

const stream = anthropic.messages.stream({
  model: "*",
  max_tokens: 1_000,
  messages: [{ role: "user", content: prompt }],
});
stream.on("text", (text) => process.stdout.write(text));
await stream.finalMessage();
process.stdout.write("\n");
