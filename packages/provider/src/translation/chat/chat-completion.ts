import { type ChatChoice, readChatCompletion } from "./chat-choice.ts";

/** The provider responded 2xx with something that is no chat completion. Nothing of it can be translated. */
export class NotChatError extends Error {
  override readonly name = "NotChatError";
}

/** @param body - the provider's, of status 2xx; @throws NotChatError */
export function parseChatCompletion(body: Buffer): ChatChoice {
  const choice = readChatCompletion(parse(body));
  if (choice !== undefined) return choice;
  throw new NotChatError(
    "The provider's response has no choices[0].message, so it is not a chat completion. Check that its base URL points to an OpenAI-compatible server.",
  );
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch {
    return undefined; // no JSON is no chat completion either
  }
}
