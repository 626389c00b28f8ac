import type { TranslationSource } from "../../translation/surface-translation.ts";
import type { TranslatedRequest } from "../translated-request.ts";
import { beginResponse, responseObject, outcomeOf, responseUsage } from "./response-object.ts";
import { ResponseOutput } from "./response-output.ts";
import type { ReasoningField } from "../../translation/chat/chat-message.ts";
import { parseChatCompletion } from "../../translation/chat/chat-choice.ts";

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
  const choice = parseChatCompletion(body);
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
