import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PROMETHEUS_CONTENT_TYPE } from "./prometheus-text.ts";

export interface MetricsServerOptions {
  host: string;
  /** 0: any free one */
  port: number;
  /** The metrics now. */
  text: () => Promise<string>;
}

interface RunningMetricsServer {
  port: number;
  close: () => Promise<void>;
}

export type ServeMetrics = (options: MetricsServerOptions) => Promise<RunningMetricsServer>;

/**
 * Serves `GET /metrics`, and nothing else.
 *
 * @throws NodeJS.ErrnoException when the port cannot be opened
 */
export const serveMetrics: ServeMetrics = async ({ host, port, text }) => {
  const server = createServer((request, response) => {
    void respond(request, response, text);
  });
  server.listen(port, host);
  await once(server, "listening");
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

async function respond(
  { url = "/", method }: IncomingMessage,
  response: ServerResponse,
  text: () => Promise<string>,
): Promise<void> {
  if (url.split("?")[0] !== "/metrics") {
    response.writeHead(404, { "content-type": "text/plain" }).end("The path is /metrics\n");
    return;
  }
  if (method !== "GET" && method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD" }).end();
    return;
  }
  try {
    const body = await text();
    response.writeHead(200, { "content-type": PROMETHEUS_CONTENT_TYPE });
    response.end(method === "HEAD" ? undefined : body);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    response.writeHead(500, { "content-type": "text/plain" }).end(`${reason}\n`);
  }
}
