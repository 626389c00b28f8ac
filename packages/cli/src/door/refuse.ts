import { anthropicErrorBody } from "@roomhub/hub";
import { type ErrorBody, errorTypeOf } from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { DoorRefusal } from "./door-guard.ts";

/** Sends a refusal in the shape of the API that was called. @param cors - header fields for an allowed page */
export function sendRefusal(
  response: ServerResponse,
  refusal: DoorRefusal,
  cors: Record<string, string>,
): void {
  const { req: request } = response;
  const isAnthropic =
    request.headers["anthropic-version"] !== undefined ||
    /^\/v1\/messages(?:[/?]|$)/.test(request.url ?? "");
  const body = bodyOf(refusal, isAnthropic);
  // The rest of a body is not waited for, and belongs to no next request.
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  const ends = length === "0" && encoding === undefined ? {} : { connection: "close" };
  response.writeHead(refusal.status, { ...headersOf(refusal, body), ...cors, ...ends });
  response.end(body);
  request.resume();
}

/** Refuses the handshake of a WebSocket. */
export function refuseUpgrade(socket: Duplex, refusal: DoorRefusal): void {
  const body = bodyOf(refusal, false);
  const headers = { ...headersOf(refusal, body), connection: "close" };
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${refusal.status} ${refusal.code}`, ...fields, "", ""];
  socket.once("finish", () => socket.destroy());
  socket.end(head.join("\r\n") + body);
}

function headersOf({ status, retryAfterSeconds }: DoorRefusal, body: string) {
  return {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...(status === 401 && { "www-authenticate": 'Bearer realm="roomhub door"' }),
    ...(retryAfterSeconds === undefined
      ? { "x-should-retry": "false" }
      : { "retry-after": String(retryAfterSeconds) }),
  };
}

function bodyOf(
  { status, code, message, hint, param = "" }: DoorRefusal,
  isAnthropic: boolean,
): string {
  // SDKs show the message alone.
  const said = { message: `${message} ${hint[0]?.toUpperCase()}${hint.slice(1)}.`, code, hint };
  if (isAnthropic) return JSON.stringify(anthropicErrorBody({ ...said, status }, undefined));
  const error: ErrorBody["error"] = { ...said, type: errorTypeOf(status), param };
  return JSON.stringify({ error });
}
