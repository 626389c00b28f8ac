import {
  createSseReader,
  type StreamMarker,
  findUsage,
  type Usage,
  parseObject,
} from "@roomhub/protocol";
import { blankLine, lastEventEnd } from "./event-boundary.ts";

/** What the whole events of a stream so far say about its end. */
export interface StreamStatus {
  hasDone: boolean;
  /** a finish reason, the terminal event of a Responses stream, or the `message_stop` of a messages stream */
  isFinished: boolean;
  /** The provider said in the stream that it failed, in its own words. */
  providerError: string | undefined;
  usage: Usage;
  /** the last one; -1 when there was none */
  sequenceNumber: number;
}

export const noStatus: StreamStatus = Object.freeze({
  hasDone: false,
  isFinished: false,
  providerError: undefined,
  usage: {},
  sequenceNumber: -1,
});

/** Only an event in which this is found is parsed. A quote inside a text would be escaped. */
const chatSign = /\[DONE\]|"finish_reason"\s*:\s*"[^"]|"error"|event: ?error/g;
const markers: Record<StreamMarker, RegExp> = {
  chat: chatSign,
  none: chatSign,
  responses: /\[DONE\]|response\.(?:completed|incomplete|failed)|"error"|event: ?error/g,
  messages: /message_stop|"error"|event: ?error/g,
  media: /"(?:transcript\.text|speech\.audio)\.done"|"image_\w+\.completed"|"error"|event: ?error/g,
};
/** neither null nor the empty text that some servers write for it */
export const finishReason = /"finish_reason"\s*:\s*"[^"]/;
const terminalMediaType = /^(?:transcript\.text|speech\.audio)\.done$|^image_\w+\.completed$/;
const terminalType = /^response\.(?:completed|incomplete|failed)$/;

/**
 * Reads whole events. A sign counts only in a well-formed event of its own, as its reader's parser has it: one glued to
 * a provider's half line says nothing to a client, and so nothing here.
 *
 * @param events - begin where an event begins
 */
export function readStatus(events: Buffer, marker: StreamMarker): StreamStatus {
  // In Latin-1 no character of a text can pass for a line end, and offsets are those of the bytes.
  const text = events.toString("latin1");
  const found = { ...noStatus, usage: findUsage(text) };
  if (marker === "responses") found.sequenceNumber = lastSequenceNumber(text);
  let end = 0;
  for (const { index } of text.matchAll(markers[marker])) {
    if (index < end) continue;
    const start = end + lastEventEnd(events.subarray(end, index), 0);
    const length = text.slice(index).search(blankLine);
    end = length < 0 ? text.length : index + length;
    readEvent(text.slice(start, end), marker, found);
  }
  return found;
}

function readEvent(text: string, marker: StreamMarker, found: StreamStatus): void {
  for (const { event: name, data } of messagesIn(text)) {
    if (marker !== "messages" && data.trim() === "[DONE]") {
      found.hasDone = true;
      continue;
    }
    const json = parseObject(data);
    if (json === undefined) continue;
    found.isFinished ||= isTerminal(typeOf(json, name), finishReason.test(data), marker);
    found.providerError ??= errorIn(json, name, marker);
  }
}

/** @param hasFinishReason - the event has one that is not null */
export function isTerminal(
  type: string | undefined,
  hasFinishReason: boolean,
  marker: StreamMarker,
): boolean {
  switch (marker) {
    case "chat":
    case "none":
      return hasFinishReason;
    case "responses":
      return type !== undefined && terminalType.test(type);
    case "messages":
      return type === "message_stop";
    case "media":
      return type !== undefined && terminalMediaType.test(type);
  }
}

/** What an event is: clients go by the data's type, or else by the event's name. */
export function typeOf(json: StreamEvent, name: string | undefined): string | undefined {
  return typeof json["type"] === "string" ? json["type"] : name;
}

export type StreamEvent = Record<string, unknown>;

/**
 * What an event says went wrong: a chat chunk with a top-level `error`, or an event of type `error`. A Responses stream
 * that ended with `response.failed` is no such event: it has a response object.
 */
export function errorIn(
  json: StreamEvent,
  name: string | undefined,
  marker: StreamMarker,
): string | undefined {
  const { error } = json;
  const hasError = typeof error === "string" ? error !== "" : typeof error === "object" && error;
  const isErrorEvent = json["type"] === "error" || name === "error";
  const isChatError = hasError && (marker === "chat" || json["type"] === undefined);
  if (!isErrorEvent && !isChatError) return undefined;
  if (typeof error === "string" && error !== "") return error;
  const message = (error as { message?: unknown } | null | undefined)?.message ?? json["message"];
  return typeof message === "string" ? message : "The provider reported an error in the stream.";
}

/** @param text - Latin-1, one event */
export function messagesIn(text: string): { event: string | undefined; data: string }[] {
  const found: { event: string | undefined; data: string }[] = [];
  const reader = createSseReader(({ event, data }) => found.push({ event, data }));
  reader.feed(`${Buffer.from(text, "latin1").toString("utf8")}\n\n`);
  return found;
}

export function lastSequenceNumber(text: string): number {
  const at = text.lastIndexOf('"sequence_number"');
  const digits = /^"sequence_number"\s*:\s*(\d{1,15})/.exec(text.slice(at, at + 50))?.[1];
  return at < 0 || digits === undefined ? -1 : Number(digits);
}

/** @param after - of what came later, and so the last word */
export function mergeStatus(before: StreamStatus, after: StreamStatus): StreamStatus {
  return {
    hasDone: before.hasDone || after.hasDone,
    isFinished: before.isFinished || after.isFinished,
    providerError: after.providerError ?? before.providerError,
    usage: { ...before.usage, ...after.usage },
    sequenceNumber: Math.max(before.sequenceNumber, after.sequenceNumber),
  };
}
