import { pastedHub } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listParticipants } from "../../operations/participants.ts";
import { getRoom, roomsLastUsed } from "../../operations/rooms.ts";
import type { FrontDeps } from "../front-deps.ts";
import type { PageName } from "../route.ts";
import type { RouteMatch } from "../router.ts";
import { sendHubPage } from "./hub-page.ts";
import { monitorUrl, type PageFacts } from "./lines.ts";
import { sendRoomPage } from "./room-page.ts";

const maxRooms = 50;

/** `GET /`, `GET /rooms/:code` and `GET /rooms/:code/watch` for people. Contract §7. @throws HubError `room_not_found` */
export async function servePage(
  request: IncomingMessage,
  response: ServerResponse,
  page: PageName,
  { params }: RouteMatch,
  { cluster, handedOut, health, operations, peers, sharedUrl }: FrontDeps,
): Promise<void> {
  const origin = peers.originOf(request);
  const facts: PageFacts = {
    origin,
    hub: pastedHub(origin, { url: sharedUrl(), handout: handedOut !== undefined }),
    version: health().version,
    sha512: handedOut?.sha512,
  };
  response.setHeader("vary", "Accept");
  switch (page) {
    case "hub": {
      const elsewhere = await cluster?.roomsElsewhere();
      const { rooms, count } = roomsLastUsed(operations, maxRooms, elsewhere?.rooms);
      sendHubPage(response, facts, { rooms, count, unreachable: elsewhere?.unreachable ?? [] });
      return;
    }
    case "room": {
      const room = getRoom(operations, params["code"] ?? "");
      const isOpen = !room.passwordProtected;
      const participants = isOpen ? listParticipants(operations, room.code) : undefined;
      sendRoomPage(response, facts, room, participants);
      return;
    }
    case "watch": {
      const { code } = getRoom(operations, params["code"] ?? "");
      const headers = { location: monitorUrl(origin, code), "cache-control": "no-store" };
      response.writeHead(302, { ...headers, "content-length": 0 }).end();
      return;
    }
  }
}
