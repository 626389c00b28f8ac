import type { IncomingMessage, ServerResponse } from "node:http";
import type { HopHub } from "../../hop/dial.ts";

const path = /^\/v1\/cluster\/rooms\/([A-Z0-9]{1,32})\/snapshot$/;
/** Far above what the largest room has. */
const maxBytes = 64 * 1024 * 1024;

/** Where the home of a room sends what the next home needs. */
export function snapshotPath(code: string): string {
  return `/v1/cluster/rooms/${code}/snapshot`;
}

/** @returns whether this hub keeps the snapshot until the directory names the room's next home */
export type TakeOffer = (code: string, from: HopHub, snapshot: string) => Promise<boolean>;

/**
 * Serves the offer of a room, which came from another hub itself: 204 when it is kept, else 409.
 *
 * @returns false for anything else
 */
export function servesOffer(
  request: IncomingMessage,
  response: ServerResponse,
  from: HopHub | undefined,
  take: TakeOffer,
): boolean {
  const code = request.method === "POST" ? path.exec(request.url ?? "")?.[1] : undefined;
  if (code === undefined || from === undefined) return false;
  const chunks: Buffer[] = [];
  let length = 0;
  request.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length > maxBytes) request.destroy();
    else chunks.push(chunk);
  });
  request.on("end", () => {
    const respond = (status: number) => response.writeHead(status).end();
    take(code, from, Buffer.concat(chunks).toString("utf8")).then(
      (isKept) => respond(isKept ? 204 : 409),
      // What it is, is reported by the callee.
      () => respond(500),
    );
  });
  return true;
}
