// Streams a response with the AI SDK (`ai`), and prints its token counts.
//   node --conditions=@roomhub/source examples/ai-sdk.ts http://127.0.0.1:5050/rooms/ABC234 "Why is the sky blue?"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSDKOptions, openRoom } from "@roomhub/client";
import { streamText } from "ai";

const [invite = "", prompt = "Why is the sky blue?"] = process.argv.slice(2);

const room = await openRoom(invite);
const provider = createOpenAICompatible({ ...aiSDKOptions(room), includeUsage: true });

const result = streamText({ model: provider("*"), prompt });
for await (const text of result.textStream) process.stdout.write(text);

const { inputTokens, outputTokens } = await result.usage;
process.stdout.write(`\n(${inputTokens} tokens in, ${outputTokens} out)\n`);
