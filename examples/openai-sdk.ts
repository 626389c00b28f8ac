// Streams a response of a room's model with the OpenAI SDK.
//   node --conditions=@roomhub/source examples/openai-sdk.ts http://127.0.0.1:5050/rooms/ABC234 "Why is the sky blue?"
import { openAIOptions, openRoom } from "@roomhub/client";
import OpenAI from "openai";

const [invite = "", prompt = "Why is the sky blue?"] = process.argv.slice(2);

const room = await openRoom(invite);
const openai = new OpenAI(openAIOptions(room));

const stream = await openai.chat.completions.create({
  model: "*", // any participant; or a model's name, or a participant's id
  messages: [{ role: "user", content: prompt }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "");
process.stdout.write("\n");
