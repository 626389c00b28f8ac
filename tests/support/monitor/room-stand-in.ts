import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ParticipantSummary, Room } from "@roomhub/protocol";
import type { RoomEvent } from "@roomhub/room-state";

/** A hub with one room whose events the caller makes: more, and faster, than real requests in a test. */
export interface RoomStandIn extends AsyncDisposable {
  readonly hubUrl: string;
  readonly code: string;
  /** Sends events to all that watch, in one write. */
  send(events: readonly RoomEvent[]): void;
}

const room: Room = {
  id: "00000000-0000-4000-8000-000000000000",
  code: "ABC234",
  name: "busy room",
  hostId: "00000000-0000-4000-8000-000000000001",
  createdAt: 0,
  passwordProtected: false,
  participantCount: 0,
};

/** @param participants - listed as they are when the page reads the list; no request runs at that moment */
export async function startRoomStandIn(
  participants: readonly ParticipantSummary[],
): Promise<RoomStandIn> {
  const watchers = new Set<ServerResponse>();
  const lists: Record<string, () => object> = {
    "": () => ({ room }),
    "/participants": () => ({ participants }),
    "/requests": () => ({ requests: [] }),
    "/v1/health": () => ({ status: "ok", version: "0.0.0", uptimeSeconds: 0, timestamp: "" }),
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://hub");
    const path = pathname.replace(`/v1/rooms/${room.code}`, "");
    response.setHeader("access-control-allow-origin", "*");
    response.setHeader("access-control-allow-headers", "*");
    if (path === "/events") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("retry: 100\n\n");
      watchers.add(response);
      response.on("close", () => watchers.delete(response));
      return;
    }
    const list = lists[path];
    response.writeHead(list === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(list?.() ?? { error: { message: "no such path", code: "not_found" } }),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    hubUrl: `http://127.0.0.1:${port}`,
    code: room.code,
    send(events) {
      const text = events
        .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join("");
      for (const watcher of watchers) watcher.write(text);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
