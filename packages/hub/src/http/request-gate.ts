import type { Limits } from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import { HubError } from "../errors.ts";
import { openAccess, requireAccess } from "../operations/access.ts";
import type { Access } from "../operations/context.ts";
import type { FrontDeps } from "./front-deps.ts";
import { isTls } from "./peer.ts";
import type { RouteMatch } from "./router.ts";

/** @throws HubError for what is refused on every path */
export function checkRequest(
  request: IncomingMessage,
  { limits, peers, requiresTls }: Pick<FrontDeps, "limits" | "peers" | "requiresTls">,
): void {
  checkHead(request, limits);
  if (!requiresTls || isTls(request)) return;
  const url = peers.originOf(request).replace(/^http:/, "https:");
  throw new HubError("tls_required", `This hub is reached over TLS only. Use ${url}`);
}

/**
 * Refuses what Node's parser accepts and the hub must not relay: no or several Host headers, chunked HTTP/1.0, absolute
 * targets, too many headers, encoded bodies.
 *
 * @throws HubError
 */
function checkHead(request: IncomingMessage, limits: Limits): void {
  const { rawHeaders } = request;
  if (rawHeaders.length / 2 > limits.headerPairs) {
    throw new HubError(
      "headers_too_large",
      `The request has more than ${limits.headerPairs} headers (limit ROOMHUB_HEADER_PAIRS).`,
    );
  }
  const url = request.url ?? "";
  if (url.length > limits.urlBytes) {
    throw new HubError("uri_too_long", `The URL is longer than ${limits.urlBytes} bytes.`);
  }
  if (!url.startsWith("/") && url !== "*") {
    throw new HubError(
      "bad_request",
      "The request target must be a path that begins with a slash.",
    );
  }
  const hosts = hostCount(rawHeaders);
  if (hosts > 1) throw new HubError("bad_request", "The request has several Host headers.");
  if (hosts === 0 && request.httpVersion === "1.1") {
    throw new HubError("bad_request", "An HTTP/1.1 request needs a Host header.");
  }
  if (request.httpVersion === "1.0" && request.headers["transfer-encoding"] !== undefined) {
    throw new HubError("bad_request", "HTTP/1.0 has no transfer encodings.");
  }
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new HubError(
      "unsupported_content_encoding",
      "Send the body as it is, without a content-encoding.",
    );
  }
}

/**
 * The gate of rooms, see {@link requireAccess}: by the head alone. Of an unknown room the handler says so.
 *
 * @returns undefined where there is no room
 * @throws HubError
 */
export function admitTo(
  { operations, peers }: Pick<FrontDeps, "operations" | "peers">,
  { route, params }: RouteMatch,
  request: IncomingMessage,
): Access | undefined {
  const { needs } = route;
  const room = needs === "none" ? undefined : operations.registry.findRoom(params["code"] ?? "");
  if (room === undefined) return undefined;
  // Most rooms are open, and nothing of the client is looked at.
  if (!room.isClosed && needs !== "host") return openAccess(room);
  const access = { need: needs, participantId: params["id"], peer: peers.peerOf(request) };
  return requireAccess(operations, room, access);
}

/** @param rawHeaders - names and values in turn */
function hostCount(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}
