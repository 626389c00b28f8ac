import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  method: string;
  url: string;
  token: string | undefined;
  body: string;
}

/** An HTTP server with the test's responses, which records its requests. */
export interface FakeHub extends AsyncDisposable {
  url: string;
  requests: SeenRequest[];
}

export async function startFakeHub(
  respond: (request: SeenRequest, response: ServerResponse, incoming: IncomingMessage) => void,
): Promise<FakeHub> {
  const requests: SeenRequest[] = [];
  const server = createServer((incoming, response) => {
    let body = "";
    incoming.setEncoding("utf8");
    incoming.on("data", (text: string) => {
      body += text;
    });
    incoming.on("end", () => {
      const seen: SeenRequest = {
        method: incoming.method ?? "",
        url: incoming.url ?? "",
        token: incoming.headers["x-participant-token"]?.toString(),
        body,
      };
      requests.push(seen);
      respond(seen, response, incoming);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export function openEvents(response: ServerResponse, retryMs: number): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`retry: ${retryMs}\n\n: hello\n\n`);
}
