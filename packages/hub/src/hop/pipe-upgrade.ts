import { type IncomingMessage, request as requestHttp } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { headText, isHomeElsewhere, type Onward, passingHeaders } from "./heads.ts";
import type { HopPool } from "./pool.ts";

/** What became of a handshake that was piped: `untaken` may go to another hub. */
export type UpgradeOutcome = "over" | "untaken" | "broken";

/**
 * Takes a client's handshake to the hub that serves it. Once that one has accepted, bytes pass as they come, both ways.
 *
 * @returns a promise that never rejects; `over` when both connections are closed or the refusal is written
 */
export function pipeUpgrade(
  { createConnection }: HopPool,
  { path, fields }: Onward,
  { request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
): Promise<UpgradeOutcome> {
  return new Promise((resolve) => {
    if (socket.destroyed || socket.readableEnded) {
      socket.destroy();
      return resolve("over");
    }
    let wasSent = false;
    const { method } = request;
    const upgrade = request.headers.upgrade ?? "websocket";
    const headers = [...fields, "connection", "Upgrade", "upgrade", upgrade];
    const outgoing = requestHttp({ createConnection, method, path, headers });
    /** Nothing can be agreed any more with one that has ended its side. */
    const onLeft = () => {
      socket.destroy();
      outgoing.destroy();
    };
    const stay = () => void socket.off("end", onLeft).off("close", onLeft);
    const end = (outcome: UpgradeOutcome) => {
      stay();
      resolve(outcome);
    };
    socket.on("end", onLeft).on("close", onLeft);
    outgoing.on("socket", () => void (wasSent = true));
    outgoing.on("upgrade", (response, hop, first) => {
      stay();
      socket.write(rawHead(response, ["connection", "Upgrade", "upgrade", upgradeOf(response)]));
      if (first.length > 0) socket.write(first);
      if (head.length > 0) hop.write(head);
      void splice(socket, hop).then(() => end("over"));
    });
    outgoing.on("response", (response) => {
      if (isHomeElsewhere(response)) {
        response.resume();
        return end("untaken");
      }
      stay();
      socket.write(rawHead(response, ["connection", "close"]));
      socket.once("finish", () => socket.destroy());
      void pipeline(response, socket)
        .catch(ignore)
        .then(() => end("over"));
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
  const fields = [...passingHeaders(rawHeaders), ...more];
  return headText(`HTTP/1.1 ${statusCode} ${statusMessage}`, fields);
}

/** Until both ends have said all, or one of them is cut, which cuts the other. */
async function splice(socket: Duplex, hop: Duplex): Promise<void> {
  hop.allowHalfOpen = true;
  // Both pipelines listen to each end, beside TLS: for Node that looks like a leak.
  for (const end of [socket, hop]) end.setMaxListeners(20);
  await Promise.allSettled([pipeline(socket, hop), pipeline(hop, socket)]);
  socket.destroy();
  hop.destroy();
}

function ignore(): void {}
