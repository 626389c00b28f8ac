import { errorTypeOf, type StreamMarker } from "@roomhub/protocol";
import { anthropicErrorBody } from "../../anthropic-error.ts";
import type { HubError } from "../../errors.ts";
import type { StreamVerdict } from "../stream/observe.ts";

/** What was sent of the stream that it ends. */
type FrameContext = Pick<StreamVerdict, "isMidEvent" | "nextSequenceNumber" | "response">;

/**
 * How a broken stream ends, so that every SDK throws instead of taking it as complete. Contract §4.
 *
 * Chat reads a top-level `error`. Responses clients differ: some read the nested form, some the flat one, so one event
 * carries both, and `response.failed` follows when a response object was relayed. Clients of Anthropic's messages read
 * the name of the event, and know no `[DONE]`.
 */
export function errorFrame(
  error: HubError,
  marker: StreamMarker,
  context: FrameContext,
  requestId: string | undefined,
): string {
  const before = context.isMidEvent ? "\n\n" : "";
  switch (marker) {
    case "chat":
    case "none":
      return `${before}data: ${JSON.stringify({ error: openAiError(error) })}\n\ndata: [DONE]\n\n`;
    case "media":
      return `${before}event: error\ndata: ${JSON.stringify({ type: "error", error: openAiError(error) })}\n\n`;
    case "responses":
      return `${before}${responsesError(error, context)}data: [DONE]\n\n`;
    case "messages":
      return `${before}event: error\ndata: ${JSON.stringify(anthropicErrorBody(error, requestId))}\n\n`;
  }
}

function openAiError({ message, status, param, code }: HubError) {
  return { message, type: errorTypeOf(status), param, code };
}

function responsesError(error: HubError, { nextSequenceNumber, response }: FrameContext): string {
  const { code, message, param } = error;
  const event = {
    type: "error",
    sequence_number: nextSequenceNumber,
    error: openAiError(error),
    code,
    message,
    param,
  };
  const failed =
    response === undefined ? "" : failedEvent(response, nextSequenceNumber + 1, code, message);
  return `event: error\ndata: ${JSON.stringify(event)}\n\n${failed}`;
}

function failedEvent(
  relayed: Record<string, unknown>,
  sequenceNumber: number,
  code: string,
  message: string,
): string {
  const response = { ...relayed, status: "failed", error: { code, message } };
  const event = { type: "response.failed", sequence_number: sequenceNumber, response };
  return `event: response.failed\ndata: ${JSON.stringify(event)}\n\n`;
}
