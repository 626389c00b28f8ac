import { isLoopbackHost } from "@roomhub/protocol";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenUsually, type LocalServer } from "../../local-server.ts";
import { loadPageFiles, type PageFiles } from "./page-files.ts";
import { reasonOf } from "../../terminal/text.ts";

export interface MonitorOptions {
  /** default 127.0.0.1 */
  host?: string | undefined;
  /** undefined: {@link usualMonitorPort}, or any free port when it is in use */
  port: number | undefined;
  /** what the page shows when its address names no room */
  room: { hubUrl: string; code: string };
}

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
export async function serveMonitor(options: MonitorOptions): Promise<LocalServer> {
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
  const { host = "127.0.0.1", port } = options;
  return listenUsually(server, host, port, usualMonitorPort);
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
    response.writeHead(500, { ...headers, "content-type": "text/plain; charset=utf-8" });
    response.end(`The page could not be built: ${reasonOf(error)}\n`);
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
