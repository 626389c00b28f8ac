import { isLoopbackHost } from "@roomhub/protocol";
import { type Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { HttpsProxyAgent } from "https-proxy-agent";
import { request as httpsRequest } from "node:https";
import type { Fetch } from "@roomhub/client";

/** The environment with `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in upper or lower case. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for a URL, or undefined for a direct connection. Loopback is always direct, as in Go.
 *
 * @param url - http, https, ws or wss
 */
export function proxyUrlFor(url: URL, env: ProxyEnvironment): string | undefined {
  const isSecure = url.protocol === "https:" || url.protocol === "wss:";
  const name = isSecure ? "https_proxy" : "http_proxy";
  const proxy = env[name] ?? env[name.toUpperCase()];
  if (proxy === undefined || proxy === "") return undefined;
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (isLoopbackHost(hostname)) return undefined;
  const port = url.port === "" ? (isSecure ? "443" : "80") : url.port;
  const exceptions = env["no_proxy"] ?? env["NO_PROXY"] ?? "";
  if (exceptions.split(/[\s,]+/).some((rule) => matches(rule.toLowerCase(), hostname, port))) {
    return undefined;
  }
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

/**
 * Connects through the proxy with CONNECT, also for http and ws: proxies relay WebSockets only that way.
 *
 * @param signal - ends the connection to the proxy; the only way to do so before the proxy has responded to CONNECT
 * @throws TypeError when the environment's value is not a URL
 */
export function proxyAgentFor(
  url: URL,
  env: ProxyEnvironment,
  signal?: AbortSignal,
): Agent | undefined {
  const proxy = proxyUrlFor(url, env);
  if (proxy === undefined) return undefined;
  return new HttpsProxyAgent(proxy, signal === undefined ? {} : { signal });
}

function matches(rule: string, hostname: string, port: string): boolean {
  if (rule === "") return false;
  if (rule === "*") return true;
  const withPort = /^(.*[^:]):(\d+)$/.exec(rule);
  if (withPort !== null && withPort[2] !== port) return false;
  const name = (withPort?.[1] ?? rule).replace(/^\*?\./, "").replace(/^\[(.*)\]$/, "$1");
  return hostname === name || hostname.endsWith(`.${name}`);
}

const maxBodyBytes = 1024 * 1024;

/**
 * `fetch` for calls to the hub through the proxy in the environment, which Node.js reads only with a start-up flag.
 * Without a proxy, it is the global `fetch`.
 */
export function createProxyFetch(env: ProxyEnvironment): Fetch {
  return (url, init) => {
    const target = new URL(url);
    const agent = proxyAgentFor(target, env, init.signal ?? undefined);
    if (agent === undefined) return fetch(url, init);
    return new Promise((resolve, reject) => {
      const send = target.protocol === "https:" ? httpsRequest : httpRequest;
      const request = send(target, {
        agent,
        method: init.method ?? "GET",
        headers: Object.fromEntries(new Headers(init.headers)),
        ...(init.signal ? { signal: init.signal } : {}),
      });
      request.on("error", reject);
      request.on("response", (response) => {
        readResponse(response).then(resolve, reject);
      });
      request.end(typeof init.body === "string" ? init.body : undefined);
    });
  };
}

async function readResponse(response: IncomingMessage): Promise<Response> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBodyBytes) throw new Error("the response body is larger than 1 MiB");
    parts.push(part);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    if (typeof value === "string") headers.set(name, value);
  }
  const status = response.statusCode ?? 502;
  const hasBody = status !== 204 && status !== 304;
  return new Response(hasBody ? Buffer.concat(parts) : null, { status, headers });
}
