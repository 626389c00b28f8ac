import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it came to a route. */
interface RoutedRequest {
  method: string;
  /** with the query */
  url: string;
  headers: IncomingMessage["headers"];
  /** as sent */
  body: string;
}

/** The response of a route: JSON, the bytes of an event stream, or nothing. */
export type RoutedAnswer =
  | { status?: number; headers?: Record<string, string>; json: unknown }
  | { stream: string }
  /** not a byte, ever */
  | "silence";

export type Routes = Record<string, (request: RoutedRequest) => RoutedAnswer>;

/** A model server that knows just what a test gives it, by `METHOD /path`; everything else is 404. */
export interface RoutedProvider extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  /** requests that found a route, in order, without the empty ones of probes */
  readonly requests: RoutedRequest[];
}

/** @param routes - below `/v1`; `GET /models` always responds */
export async function startRoutedProvider(routes: Routes): Promise<RoutedProvider> {
  const requests: RoutedRequest[] = [];
  const all: Routes = {
    "GET /models": () => ({ json: { object: "list", data: [{ id: "m", object: "model" }] } }),
    ...routes,
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { method = "GET", url = "/", headers } = request;
      const asked = { method, url, headers, body: Buffer.concat(parts).toString() };
      const path = url.replace(/^\/v1/, "").split("?", 1)[0];
      const route = all[`${method} ${path}`];
      if (route === undefined) {
        send(response, { status: 404, json: { error: { message: `no ${method} ${path}` } } });
        return;
      }
      // How a look finds out which paths there are; a model server names what is missing.
      if (asked.method === "POST" && asked.body === "{}") {
        send(response, { status: 400, json: { error: { message: "model is required" } } });
        return;
      }
      requests.push(asked);
      send(response, route(asked));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function send(response: ServerResponse, answer: RoutedAnswer): void {
  if (answer === "silence") return;
  if ("stream" in answer) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(answer.stream);
    return;
  }
  response.writeHead(answer.status ?? 200, {
    "content-type": "application/json",
    ...answer.headers,
  });
  response.end(JSON.stringify(answer.json));
}
