/**
 * Where to dial, from what the hub said at join. A hub behind a TLS proxy may not know that the world reaches it by
 * https: the token then must not travel in the clear, so the way we came in ourselves is taken.
 *
 * @throws Error when the hub's text is no WebSocket URL
 */
export function resolveTunnelUrl(hubUrl: string, announced: string): URL {
  const hub = new URL(hubUrl);
  const base = new URL(hubUrl);
  base.protocol = hub.protocol === "https:" ? "wss:" : "ws:";
  const url = new URL(announced, base);
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    throw new Error(`the hub announced a tunnel URL that is none: ${announced.slice(0, 200)}`);
  }
  if (hub.protocol === "https:" && url.protocol === "ws:" && url.hostname === hub.hostname) {
    url.protocol = "wss:";
    url.port = hub.port;
  }
  return url;
}
