import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Fetch } from "@roomhub/client";
import { proxyAgentFor, type ProxyEnvironment } from "./proxy.ts";

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
