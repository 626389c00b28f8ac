/** A model server of its own for forms, which reports what it got of each, and for speech of 10 MB. */
import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { serveHarness } from "../../tests/faults/programs/rpc.ts";

const sound = Buffer.alloc(10_000_000, 7);
const paths = { "/v1/audio/transcriptions": {}, "/v1/audio/speech": {} };
let closedAt = Promise.withResolvers<number>();

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

const server = createServer((request, response) => {
  switch (request.url) {
    case "/v1/models":
      return json(response, { object: "list", data: [{ id: "fake-model" }] });
    case "/openapi.json":
      return json(response, { paths });
    case "/v1/audio/speech": {
      request.resume();
      const closed = closedAt;
      response.on("close", () => closed.resolve(Date.now()));
      response.writeHead(200, { "content-type": "audio/mpeg" });
      return void response.end(sound);
    }
    case "/v1/audio/transcriptions": {
      const hash = createHash("sha256");
      request.on("data", (chunk: Buffer) => hash.update(chunk));
      return void request.on("end", () => json(response, { text: hash.digest("hex") }));
    }
    default:
      request.resume();
      response.writeHead(404).end();
  }
});
server.listen(0, "127.0.0.1");
await once(server, "listening");

const handlers = {
  url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
  expectSpeech: () => void (closedAt = Promise.withResolvers()),
  /** when its connection closed, in epoch ms */
  speechClosed: () => closedAt.promise,
};
export type UploadProviderHandlers = typeof handlers;
serveHarness(handlers);
