import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** One form at the model server, while it arrives. */
export interface ReceivedForm {
  request: IncomingMessage;
  response: ServerResponse;
  bytes: number;
  /** of all bytes so far */
  hash: () => string;
  text: () => string;
  state: "arriving" | "whole" | "broken";
}

type OnForm = (form: ReceivedForm) => void;

const respond: OnForm = ({ request, response }) => {
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"text":"hello"}');
  });
};

/** A model server that has transcriptions alone, and shows what it gets as it comes. */
export async function startUploadServer(onForm: OnForm = respond) {
  const forms: ReceivedForm[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const json = (value: object) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (request.url === "/v1/models") return json({ object: "list", data: [{ id: "m" }] });
    if (request.url === "/openapi.json") return json({ paths: { "/v1/audio/transcriptions": {} } });
    if (request.method === "GET") return void response.writeHead(404).end();
    const hash = createHash("sha256");
    const begun: Buffer[] = [];
    const form: ReceivedForm = {
      ...{ request, response, bytes: 0, state: "arriving" },
      hash: () => hash.copy().digest("hex"),
      text: () => Buffer.concat(begun).toString("latin1"),
    };
    request.on("data", (chunk: Buffer) => {
      form.bytes += chunk.length;
      hash.update(chunk);
      if (form.bytes < 10_000) begun.push(chunk);
    });
    request.on("end", () => (form.state = "whole"));
    request.on("close", () => {
      if (form.state === "arriving") form.state = "broken";
    });
    request.on("error", () => undefined);
    forms.push(form);
    onForm(form);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    forms,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
