import OpenAI from "openai";
import { ANY_KEY, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { chatOperations, responsesOperations } from "./openai-operations.ts";

function connect({ baseUrl, fetch }: Target): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
}

describeClient({ name: "openai, chat", speaks: "chat", does: chatOperations(connect) });

describeClient({
  name: "openai, responses",
  speaks: "responses",
  does: responsesOperations(connect),
});
