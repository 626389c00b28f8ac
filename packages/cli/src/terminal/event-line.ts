import {
  clientText,
  type CompletePayload,
  type Connection,
  type FailurePayload,
  type HubEvent,
} from "@roomhub/protocol";
import { type Colors, clockTime, countOf, duration, safe } from "./text.ts";

/** One event as a line without its line break. Everything in it came from the network. */
export function eventLine(event: HubEvent, colors: Colors): string {
  const time = colors.dim(clockTime(Date.parse(event.timestamp)));
  return `${time} ${safe(event.roomCode)} ${safe(event.type).padEnd(19)} ${describe(event, colors)}`;
}

/** Listeners of an event stream that say in a line each that it was lost, and that an event cannot be read. */
export function streamReports(say: (line: string) => void, loss = "") {
  return {
    onDisconnect: (reason: string, retryInMs: number) =>
      say(`disconnected: ${safe(reason)}; retrying in ${duration(retryInMs)}${loss}`),
    onInvalidEvent: (problem: string) => say(`! ${problem}`),
  };
}

/** Added where what is counted has no gaps to show. */
export const notCounted = "; requests until then are not counted";

/** A request cancelled by its client is not a failure. */
export function isFailure(event: HubEvent): boolean {
  return event.type === "llm.error" && event.code !== "client_disconnected";
}

function describe(event: HubEvent, colors: Colors): string {
  switch (event.type) {
    case "room.created":
      return safe(event.room.name);
    case "participant.joined":
    case "participant.updated": {
      const { id, nickname, model, status, connection } = event.participant;
      const path = status === "offline" ? connection.path : connectionText(connection);
      return `${safe(id)} (${safe(nickname)}, ${safe(model)}) ${safe(status)}, ${safe(path)}`;
    }
    case "participant.left":
    case "participant.offline":
      return `${safe(event.participantId)} (${safe(event.nickname)})`;
    case "llm.request": {
      const attempt = event.attempt > 1 ? `, attempt ${event.attempt}` : "";
      const selector = event.selector === undefined ? "" : `, requested ${safe(event.selector)}`;
      return `${safe(event.participantId)} ${safe(event.model)}${by(event)}${selector}${attempt}`;
    }
    case "llm.complete":
      return `${safe(event.participantId)} ${safe(event.model)}${by(event)} ${speed(event)}`;
    case "llm.error": {
      const who = `${safe(event.participantId ?? "-")} ${safe(event.model ?? "-")}${by(event)}`;
      return `${who} ${colors.red(failure(event))}`;
    }
    default:
      return safe((event satisfies never as HubEvent).type);
  }
}

function connectionText({ connected, path, problem, resuming }: Connection): string {
  if (resuming !== undefined)
    return `connection lost, ${countOf(resuming.streams, "stream")} waiting`;
  return connected ? (problem ?? path) : "not connected";
}

/** ` for alice`; nothing for a client that reveals nothing. */
function by({ client }: Pick<CompletePayload, "client">): string {
  const text = clientText(client);
  return text === undefined ? "" : ` for ${safe(text)}`;
}

function speed({ metrics, queueMs, resumes }: CompletePayload): string {
  const parts = [`ttft ${duration(metrics.ttftMs)}`, `total ${duration(metrics.durationMs)}`];
  if (metrics.outputTokens !== undefined) parts.push(countOf(metrics.outputTokens, "token"));
  if (metrics.tokensPerSecond !== undefined) {
    parts.push(`${metrics.tokensPerSecond.toFixed(1)} tokens/s`);
  }
  if (queueMs > 0) parts.push(`waited ${duration(queueMs)}`);
  if (resumes !== undefined) parts.push(countOf(resumes, "resume"));
  return parts.join(", ");
}

function failure({ stage, code, error }: FailurePayload): string {
  return `failed in ${safe(stage)}: ${safe(error)} (${safe(code ?? "")})`;
}
