import { errorTypeOf, type StreamMarker } from "@roomhub/protocol";
import type { HubError } from "../errors.ts";

interface FrameContext {
  /** part of an unfinished event already left */
  isMidEvent: boolean;
  nextSequenceNumber: number;
  response: Record<string, unknown> | undefined;
}

/**
 * How a stream that broke ends, so that every SDK throws instead of taking it for an answer. Contract §4.
 *
 * Chat reads a top-level `error`. Responses clients differ: some read the nested form, some the flat one, so one event
 * carries both, and `response.failed` follows when a response object was relayed.
 */
export function errorFrame(error: HubError, marker: StreamMarker, context: FrameContext): string {
  const before = context.isMidEvent ? "\n\n" : "";
  const body = {
    message: error.message,
    type: errorTypeOf(error.status),
    param: error.param,
    code: error.code,
  };
  if (marker !== "responses") {
    return `${before}data: ${JSON.stringify({ error: body })}\n\ndata: [DONE]\n\n`;
  }
  const { code, message, param } = body;
  const number = context.nextSequenceNumber;
  const event = { type: "error", sequence_number: number, error: body, code, message, param };
  const failed =
    context.response === undefined ? "" : failedEvent(context.response, number + 1, code, message);
  return `${before}event: error\ndata: ${JSON.stringify(event)}\n\n${failed}data: [DONE]\n\n`;
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
