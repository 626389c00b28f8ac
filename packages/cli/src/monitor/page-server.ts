import { isLoopbackHost } from "@roomhub/protocol";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { loadPageFiles, type PageFiles } from "./page-files.ts";

export interface MonitorOptions {
  /** default 127.0.0.1 */
  host?: string | undefined;
  /** undefined: {@link usualMonitorPort}, or any free port when it is in use */
  port: number | undefined;
  /** what the page shows when its address names no room */
  room: { hubUrl: string; code: string };
}

interface RunningMonitor {
  port: number;
  close: () => Promise<void>;
}

export type ServeMonitor = (options: MonitorOptions) => Promise<RunningMonitor>;

const usualMonitorPort = 5_051;

const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' http: https:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Serves the page that watches a room. Its files are loaded with the first request.
 *
 * @throws NodeJS.ErrnoException when the port cannot be opened
 */
export const serveMonitor: ServeMonitor = async (options) => {
  let files: Promise<PageFiles> | undefined;
  const load = () => {
    files ??= loadPageFiles().catch((error: unknown) => {
      // The next request tries again.
      files = undefined;
      throw error;
    });
    return files;
  };
  const server = createServer((request, response) => {
    void serve(request, response, load, options.room);
  });
  await listen(server, options.host ?? "127.0.0.1", options.port);
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};

async function listen(server: Server, host: string, port: number | undefined): Promise<void> {
  try {
    server.listen(port ?? usualMonitorPort, host);
    await once(server, "listening");
  } catch (error) {
    if (port !== undefined || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    server.listen(0, host);
    await once(server, "listening");
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  load: () => Promise<PageFiles>,
  room: MonitorOptions["room"],
): Promise<void> {
  const { pathname, search } = new URL(request.url ?? "/", "http://page");
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.writeHead(405, { ...headers, allow: "GET, HEAD" }).end();
    return;
  }
  if (pathname === "/" && search === "") {
    const location = `/${monitorQuery(room, request.headers.host)}`;
    response.writeHead(302, { ...headers, "cache-control": "no-store", location }).end();
    return;
  }
  try {
    const file = (await load()).get(pathname === "/" ? "/index.html" : pathname);
    if (file === undefined) {
      response.writeHead(404, headers).end();
      return;
    }
    const length = { "content-type": file.type, "content-length": file.body.length };
    response.writeHead(200, { ...headers, ...length, "cache-control": "no-cache" });
    response.end(request.method === "HEAD" ? undefined : file.body);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    response.writeHead(500, { ...headers, "content-type": "text/plain; charset=utf-8" });
    response.end(`The page could not be built: ${reason}\n`);
  }
}

/**
 * The page's query for a room. A hub on the loopback address has the page's own host name for other machines.
 *
 * @param host - of the request for the page
 */
export function monitorQuery(
  { hubUrl, code }: MonitorOptions["room"],
  host: string | undefined,
): string {
  const url = new URL(hubUrl);
  const page = URL.parse(`http://${host ?? ""}`);
  if (page !== null && isLoopbackHost(url.hostname) && !isLoopbackHost(page.hostname)) {
    url.hostname = page.hostname;
  }
  const hub = url.href.replace(/\/$/, "");
  return `?${new URLSearchParams({ hub, room: code }).toString()}`;
}
