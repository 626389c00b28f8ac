import { boundaryOf, serverRoot } from "@roomhub/protocol";
import type { ProviderCall, ProviderRequest } from "../call/provider-call.ts";

/** Paths that whisper.cpp takes all at one of its own. */
const transcription = "/audio/transcriptions";
const translation = "/audio/translations";

export function isWhisperPath(path: string): boolean {
  return path === transcription || path === translation;
}

/**
 * Sends a transcription or translation to whisper.cpp's `/inference`. A form that is to be translated gets a part in front of
 * the others that says so; its other bytes pass as they came.
 */
export function callWhisper(
  request: ProviderRequest,
  send: (request: ProviderRequest) => ProviderCall,
): ProviderCall {
  const part = request.path === translation ? translatePart(request.headers) : none;
  const { body, bodyBytes } = request;
  // The URL to send forms to may have been given as the endpoint.
  const baseUrl = serverRoot(request.baseUrl).replace(/\/inference$/, "");
  const toServer = { ...request, baseUrl, path: "/inference" };
  if (body !== "streamed") return send({ ...toServer, body: [part, ...(body ?? [])] });
  const call = send({
    ...toServer,
    bodyBytes: bodyBytes === undefined ? undefined : bodyBytes + part.length,
  });
  // Small enough to fit into the socket's buffer, whatever it returns.
  call.writeBody(part);
  return call;
}

const none = Buffer.alloc(0);

function translatePart(headers: Readonly<Record<string, string>>): Buffer {
  const boundary = boundaryOf(headers["content-type"] ?? "");
  if (boundary === undefined) return none;
  const head = 'Content-Disposition: form-data; name="translate"';
  return Buffer.from(`--${boundary}\r\n${head}\r\n\r\ntrue\r\n`);
}
