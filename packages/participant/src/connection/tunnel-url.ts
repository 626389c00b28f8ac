import { isLoopbackHost } from "@roomhub/protocol";

/** Where a hub takes this participant's tunnel, by the hub's URL. `docs/reference/tunnel.md`, "Handshake". */
export function tunnelUrlAt(hubUrl: string, room: string, id: string): URL {
  const path = `/v1/rooms/${room}/participants/${encodeURIComponent(id)}/tunnel`;
  return new URL(hubUrl.replace(/^http/, "ws") + path);
}

/**
 * Where the tunnel goes after a join: where the hub says, and to the hub's loopback address where that took the join, since
 * the hub's URL for others may lead nowhere from its own machine.
 *
 * @throws Error when the hub's text is not a WebSocket URL
 */
export function tunnelUrlOf(hubUrl: string, announced: string, room: string, id: string): URL {
  const url = resolveTunnelUrl(hubUrl, announced);
  const isOwn = isLoopbackHost(new URL(hubUrl).hostname) && !isLoopbackHost(url.hostname);
  return isOwn ? tunnelUrlAt(hubUrl, room, id) : url;
}

/**
 * The tunnel URL from the hub's join response. A hub behind a TLS proxy may announce ws: instead of wss:; the token must
 * not be sent in the clear, so the scheme and port of the hub URL are used.
 *
 * @throws Error when the hub's text is not a WebSocket URL
 */
export function resolveTunnelUrl(hubUrl: string, announced: string): URL {
  const hub = new URL(hubUrl);
  const base = new URL(hubUrl);
  base.protocol = hub.protocol === "https:" ? "wss:" : "ws:";
  const url = new URL(announced, base);
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    throw new Error(`the hub announced an invalid tunnel URL: ${announced.slice(0, 200)}`);
  }
  if (hub.protocol === "https:" && url.protocol === "ws:" && url.hostname === hub.hostname) {
    url.protocol = "wss:";
    url.port = hub.port;
  }
  return url;
}
