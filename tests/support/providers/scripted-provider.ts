import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/** What a provider puts on the wire for one request, byte by byte. */
export interface WireScript {
  /** written one by one, with a turn of the event loop after each */
  pieces: Buffer[];
  /** how the connection ends after them */
  end: "end" | "destroy" | "reset";
}

/** A server that knows no HTTP beyond finding a request's end. To anything but a POST it responds with a model list. */
export interface ScriptedProvider extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  /** for every POST until it is set again */
  script: WireScript;
}

/** Its GET responses: a models list, and a listing of paths that makes further probes unnecessary. */
const known = JSON.stringify({
  object: "list",
  data: [{ id: "fake-model", object: "model", owned_by: "vllm" }],
  paths: { "/v1/chat/completions": {}, "/v1/responses": {} },
});
const knownAnswer = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${known.length}\r\n\r\n${known}`,
);

export async function startScriptedProvider(): Promise<ScriptedProvider> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.setNoDelay(true);
    let asked = "";
    socket.setEncoding("latin1").on("data", (part) => {
      asked += part.toString();
      if (!isWhole(asked)) return;
      const isGeneration = asked.startsWith("POST ");
      asked = "";
      void play(socket, isGeneration ? provider.script : { pieces: [knownAnswer], end: "end" });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const provider: ScriptedProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    script: { pieces: [], end: "end" },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return provider;
}

function isWhole(asked: string): boolean {
  const headEnd = asked.indexOf("\r\n\r\n");
  if (headEnd === -1) return false;
  const head = asked.slice(0, headEnd).toLowerCase();
  if (head.includes("transfer-encoding: chunked")) return asked.endsWith("0\r\n\r\n");
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? "0";
  return asked.length >= headEnd + 4 + Number(length);
}

async function play(socket: Socket, script: WireScript): Promise<void> {
  for (const piece of script.pieces) {
    if (socket.destroyed) return;
    await new Promise((resolve) => socket.write(piece, resolve));
    await nextTurn();
  }
  if (script.end === "end") socket.end();
  else if (script.end === "reset") socket.resetAndDestroy();
  else socket.destroy();
}
