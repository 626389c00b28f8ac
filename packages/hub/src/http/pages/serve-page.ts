import { pastedHub } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listParticipants } from "../../operations/participants.ts";
import { getRoom, roomsLastUsed } from "../../operations/rooms.ts";
import type { FrontDeps } from "../front-deps.ts";
import type { PageName } from "../route.ts";
import type { RouteMatch } from "../router.ts";
import { sendHubPage } from "./hub-page.ts";
import { monitorUrl, type PageFacts, sendClosedRoomPage, sendRoomPage } from "./room-page.ts";
import type { HubError } from "../../errors.ts";
import type { FlushingResponses } from "../flushing-responses.ts";
import { errorHeaders } from "../error-response.ts";
import { discardRest } from "../unread-rest.ts";
import { html, sendPage } from "./html.ts";

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
    hub: pastedHub(origin, {
      url: sharedUrl(),
      handout: handedOut !== undefined,
      pin: health().pin,
    }),
    version: health().version,
    isForOperator: operations.roomCreators === "host",
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
      if (room.closed === true) return sendClosedRoomPage(response, facts, room.code);
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

/**
 * Whether a response should be a page for people: only where `Accept` names `text/html`, not below `application/json`.
 * Programs name no type, or any, and get JSON. Contract §7, RFC 9110 §12.5.1.
 *
 * @param accept - the header; a malformed one means JSON
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > 1_000) return false;
  const weights = new Map<string, number>();
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (!mediaRange.test(type)) return false;
    const weight = weightOf(parameters);
    if (weight === undefined) return false;
    weights.set(type, Math.max(weight, weights.get(type) ?? 0));
  }
  const html = weights.get("text/html") ?? 0;
  return html > 0 && html >= (weights.get("application/json") ?? 0);
}

const mediaRange = /^(?:\*\/\*|[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+))$/;

/** @returns undefined for what is not a weight */
function weightOf(parameters: readonly string[]): number | undefined {
  const given = parameters.find((parameter) => parameter.startsWith("q="));
  if (given === undefined) return 1;
  return /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(given) ? Number(given.slice(2)) : undefined;
}

/**
 * An error for people, with the same status and headers as in JSON, and links.
 *
 * @param origin - of the hub, where its rooms are listed
 */
export function sendErrorPage(
  response: ServerResponse,
  error: HubError,
  origin: string | undefined,
  flushing: FlushingResponses,
): void {
  const { req: request } = response;
  if (!request.complete) discardRest(flushing, request);
  // A command is not a next step in a browser.
  const isForPeople = error.hint !== undefined && !/\broomhub [a-z]/.test(error.hint);
  const hint = isForPeople ? html`<p>${error.hint ?? ""}</p>` : html``;
  const rooms =
    origin === undefined ? html`` : html`<p><a href="${origin}/">All rooms of this hub</a></p>`;
  sendPage(
    response,
    error.status,
    "roomhub",
    html`<main>
      <p class="quiet">${String(error.status)} ${error.code}</p>
      <h1>${error.message}</h1>
      ${hint} ${rooms}
    </main>`,
    errorHeaders(error),
  );
}
