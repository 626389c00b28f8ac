import { ResponseOutput } from "./response-output.ts";
import type { TranslatedRequest, TranslationSource } from "../translated-request.ts";
import { readChatCompletion } from "../chat/chat-choice.ts";
import { outcomeOf } from "../chat/finish.ts";
import { beginResponse, responseObject } from "./response-object.ts";
import type { ReasoningField } from "../reasoning-field.ts";
import { responseUsage } from "../chat/usage.ts";

/** The provider responded 2xx with something that is no chat completion. Nothing of it can be translated. */
export class NotChatError extends Error {
  override readonly name = "NotChatError";
}

/**
 * Translates a whole chat completion as a response object: a stream of one chunk whose events are not read, so that both
 * kinds of response say the same.
 *
 * @param body - the provider's, of status 2xx; @param onReasoning - called with its field for reasoning, when it sent some
 * @throws NotChatError
 */
export function translateResponse(
  body: Buffer,
  request: TranslatedRequest,
  source: TranslationSource,
  onReasoning?: (field: ReasoningField) => void,
): Buffer {
  const origin = beginResponse(request, source);
  const choice = readChatCompletion(parse(body));
  if (choice === undefined) {
    throw new NotChatError(
      "The provider's response has no choices[0].message, so it is not a chat completion. Check that its base URL points to an OpenAI-compatible server.",
    );
  }
  if (choice.reasoningField !== undefined) onReasoning?.(choice.reasoningField);
  const outcome = outcomeOf(choice.finishReason);
  const output = new ResponseOutput(ignoreEvent, request.toolNames, source);
  output.add(choice.content);
  output.close(outcome.status === "incomplete");
  const usage = responseUsage(choice.usage);
  const response = responseObject(origin, choice.model ?? request.model, output.items(), {
    kind: "ended",
    outcome,
    usage,
    atSeconds: source.nowSeconds(),
  });
  return Buffer.from(JSON.stringify(response));
}

function ignoreEvent(): void {}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch {
    return undefined; // no JSON is no chat completion either
  }
}
