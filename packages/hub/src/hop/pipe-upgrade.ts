import { type IncomingMessage, request as requestHttp } from "node:http";
import type { Duplex } from "node:stream";
import type { HopAgent } from "./agent.ts";
import { passingHeaders, PEER_HEADER } from "./heads.ts";

/** What became of a handshake that was piped: `untaken` may go to another hub. */
export type UpgradeOutcome = "over" | "untaken" | "broken";

const maxRefusalBytes = 64 * 1024;

/**
 * Takes a client's handshake to the hub that serves it. Once that one has accepted, bytes pass as they come, both ways.
 *
 * @param facts - value of {@link PEER_HEADER}
 * @param isElsewhere - whether a refusal says that the other hub is not the home
 * @returns a promise that never rejects; `over` when both connections are closed or the refusal is written
 */
export function pipeUpgrade(
  agent: HopAgent,
  facts: string,
  { request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
  isElsewhere: (status: number, body: string) => boolean,
): Promise<UpgradeOutcome> {
  return new Promise((resolve) => {
    if (socket.destroyed) return resolve("over");
    let wasSent = false;
    const headers = passingHeaders(request.rawHeaders);
    headers.push("connection", "Upgrade", "upgrade", request.headers.upgrade ?? "websocket");
    headers.push(PEER_HEADER, facts);
    const outgoing = requestHttp({ agent, method: request.method, path: request.url, headers });
    const onClose = () => outgoing.destroy();
    socket.on("close", onClose);
    const end = (outcome: UpgradeOutcome) => {
      socket.off("close", onClose);
      resolve(outcome);
    };
    outgoing.on("socket", () => void (wasSent = true));
    outgoing.on("upgrade", (response, hop, first) => {
      socket.write(rawHead(response, ["connection", "Upgrade", "upgrade", upgradeOf(response)]));
      if (first.length > 0) socket.write(first);
      if (head.length > 0) hop.write(head);
      splice(socket, hop, () => end("over"));
    });
    outgoing.on("response", (response) => {
      void readText(response).then((body) => {
        if (isElsewhere(response.statusCode ?? 0, body)) return end("untaken");
        const length = String(Buffer.byteLength(body));
        socket.once("finish", () => socket.destroy());
        socket.end(rawHead(response, ["connection", "close", "content-length", length]) + body);
        end("over");
      });
    });
    outgoing.on("error", () => {
      if (!socket.destroyed) end(wasSent ? "broken" : "untaken");
      else end("over");
    });
    outgoing.end();
  });
}

function upgradeOf({ headers }: IncomingMessage): string {
  return headers.upgrade ?? "websocket";
}

/** @param more - names and values in turn */
function rawHead(response: IncomingMessage, more: readonly string[]): string {
  const { statusCode, statusMessage, rawHeaders } = response;
  const headers = passingHeaders(rawHeaders);
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (const list of [headers, more]) {
    for (let index = 0; index + 1 < list.length; index += 2) {
      if (list === headers && list[index]?.toLowerCase() === "content-length") continue;
      lines.push(`${list[index]}: ${list[index + 1]}`);
    }
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  try {
    for await (const part of response) {
      if (text.length < maxRefusalBytes) text += part;
    }
  } catch {
    // What came before the connection was lost says enough.
  }
  return text;
}

function splice(one: Duplex, other: Duplex, onOver: () => void): void {
  const close = () => {
    one.destroy();
    other.destroy();
    onOver();
  };
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on("error", close).on("close", close);
    from.pipe(to);
  }
}
