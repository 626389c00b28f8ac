import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Its surfaces, listed so that none of them is probed. */
const openApi = '{"paths":{"/v1/chat/completions":{},"/v1/responses":{}}}';

/** A provider that lists its models and what it serves, and responds to the rest as the test says. */
export interface FakeModelServer extends AsyncDisposable {
  endpoint: string;
  port: number;
  requests: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[];
  /** one at first, `m` */
  models: string[];
  /** how often they were listed */
  listings: number;
  close(): Promise<void>;
}

export async function startFakeModelServer(
  respond: (response: ServerResponse, incoming: IncomingMessage, body: string) => void,
  port = 0,
): Promise<FakeModelServer> {
  const requests: FakeModelServer["requests"] = [];
  const models = ["m"];
  const server = createServer((incoming, response) => {
    if (incoming.method === "GET" && incoming.url === "/v1/models") {
      fake.listings += 1;
      const data = models.map((id) => ({ id, owned_by: "vllm" }));
      response.end(JSON.stringify({ object: "list", data }));
      return;
    }
    if (incoming.url === "/openapi.json") {
      response.end(openApi);
      return;
    }
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const body = Buffer.concat(parts).toString("latin1");
      const { method = "", url = "", headers } = incoming;
      requests.push({ method, url, headers, body });
      respond(response, incoming, body);
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const actualPort = (server.address() as AddressInfo).port;
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  const fake: FakeModelServer = {
    endpoint: `http://127.0.0.1:${actualPort}`,
    port: actualPort,
    requests,
    models,
    listings: 0,
    close,
    [Symbol.asyncDispose]: close,
  };
  return fake;
}
