import { type Fetch, pinnedFetch } from "@roomhub/client";
import { isLoopbackHost, pinnedAgent, pinnedTls, verifyPinned } from "@roomhub/protocol";
import { type Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { HttpsProxyAgent } from "https-proxy-agent";
import { request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

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

/** What a dial needs: the proxy in between, and the proof of the hub's key, where a pin names one. */
export function dialAgentFor(
  url: URL,
  env: ProxyEnvironment,
  pin: string | undefined,
  signal?: AbortSignal,
): Agent | undefined {
  if (pin === undefined) return proxyAgentFor(url, env, signal);
  const proxy = proxyUrlFor(url, env);
  if (proxy === undefined) return pinnedAgent(pin) as Agent;
  return new PinnedProxyAgent(pin, proxy, signal === undefined ? {} : { signal });
}

/** TLS inside the connection through the proxy: the proxy sees nothing of it. */
class PinnedProxyAgent extends HttpsProxyAgent<string> {
  readonly #pin: string;

  constructor(pin: string, ...proxy: ConstructorParameters<typeof HttpsProxyAgent<string>>) {
    super(...proxy);
    this.#pin = pin;
  }

  override async connect(...[request, options]: ConnectArguments): Promise<Socket> {
    const plain = { ...options, secureEndpoint: false } as typeof options;
    const socket = await super.connect(request, plain);
    const host = options.host ?? "";
    const name = isIP(host) === 0 ? { servername: host } : {};
    const secured = connectTls({ ...pinnedTls, ...name, ALPNProtocols: ["http/1.1"], socket });
    await verifyPinned(secured, this.#pin);
    return secured;
  }
}

type ConnectArguments = Parameters<HttpsProxyAgent<string>["connect"]>;

/**
 * Connects through the proxy with CONNECT, also for http and ws: proxies relay WebSockets only that way.
 *
 * @param signal - ends the connection to the proxy; the only way to do so before the proxy has responded to CONNECT
 * @throws TypeError when the environment's value is not a URL
 */
function proxyAgentFor(url: URL, env: ProxyEnvironment, signal?: AbortSignal): Agent | undefined {
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
 * Without a proxy, it is the global `fetch`, or one that has the hub prove its key.
 *
 * @param pin - of the hub, the only one that is called
 */
export function createProxyFetch(env: ProxyEnvironment, pin?: string): Fetch {
  const sendDirectly = pin === undefined ? fetch : pinnedFetch(pin);
  return (url, init) => {
    const target = new URL(url);
    if (proxyUrlFor(target, env) === undefined) return sendDirectly(url, init);
    const agent = dialAgentFor(target, env, pin, init.signal ?? undefined);
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
