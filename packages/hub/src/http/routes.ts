import { SURFACES } from "@roomhub/protocol";
import { deleteAlias, listAliases, postAlias } from "./handlers/aliases.ts";
import {
  deleteBan,
  deleteBlocked,
  deleteRoom,
  listBans,
  listBlocked,
  postKick,
  putBlocked,
  putRoom,
} from "./handlers/host.ts";
import { getHealth, listHubs } from "./handlers/hub.ts";
import {
  deleteKey,
  listKeys,
  postClose,
  postKey,
  postOpen,
  postRotation,
} from "./handlers/keys.ts";
import {
  deleteParticipant,
  getParticipant,
  listParticipants,
  postHeartbeat,
  postJoin,
  postParticipantHeartbeat,
  putFeatures,
  putParticipant,
} from "./handlers/participants.ts";
import {
  getModel,
  getRoom,
  getRoute,
  listModels,
  listRequests,
  listRooms,
  postRoom,
} from "./handlers/rooms.ts";
import type { Need } from "../operations/context.ts";
import type { HttpMethod, JsonHandler, JsonRoute, Route, StoredResponseMethod } from "./route.ts";

function json(method: HttpMethod, path: string, needs: Need, handle: JsonHandler): JsonRoute {
  return { kind: "json", method, path, needs, hasBody: false, handle };
}

function jsonWithBody(method: HttpMethod, path: string, needs: Need, handle: JsonHandler): Route {
  return { ...json(method, path, needs, handle), hasBody: true };
}

/** A row in both families. Contract §1. */
function both(row: Route): Route[] {
  return [row, { ...row, path: `/v1${row.path}` }];
}

function inference(base: string): Route[] {
  return SURFACES.map((surface) => ({
    kind: "inference",
    method: "POST",
    // Cohere's client has its version behind the room.
    path: surface.path.startsWith("v2/")
      ? `${base.replace(/\/v1$/, "")}/${surface.path}`
      : `${base}/${surface.path}`,
    needs: "infer",
    surface,
  }));
}

/** Contract §4: stored responses, requested from the participant that created them. */
function storedResponses(base: string): Route[] {
  const row = (method: StoredResponseMethod, suffix: string): Route => {
    const path = `${base}/responses/:responseId${suffix}`;
    return { kind: "stored-response", method, path, needs: "infer", suffix };
  };
  return [row("GET", ""), row("DELETE", ""), row("POST", "/cancel"), row("GET", "/input_items")];
}

/** Event names have colons on room-scoped paths, dots on management paths. */
function events(path: string, needs: Need): Route[] {
  const row = { kind: "events", method: "GET", needs } as const;
  return [
    { ...row, path, spelling: "colon" },
    { ...row, path: `/v1${path}`, spelling: "dot" },
  ];
}

/** The whole surface. Interface §4, contract §1: both families end in the same operations. */
export const ROUTES: readonly Route[] = [
  ...both(json("GET", "/health", "none", getHealth)),
  ...both({ kind: "openapi", method: "GET", path: "/openapi.json", needs: "none" }),

  { kind: "page", method: "GET", path: "/", needs: "none", page: "hub" },
  { kind: "program", method: "GET", path: "/roomhub.tgz", needs: "none" },
  { kind: "program", method: "GET", path: "/roomhub-:version.tgz", needs: "none" },
  { kind: "sdk", method: "GET", path: "/roomhub-client.tgz", needs: "none" },
  { kind: "monitor", method: "GET", path: "/monitor", needs: "none" },
  { kind: "monitor", method: "GET", path: "/monitor/*", needs: "none" },

  ...both(jsonWithBody("POST", "/rooms", "none", postRoom)),
  ...both(json("GET", "/rooms", "none", listRooms)),
  { ...json("GET", "/rooms/:code", "any", getRoom), page: "room" },
  json("GET", "/v1/rooms/:code", "any", getRoom),
  { kind: "page", method: "GET", path: "/rooms/:code/watch", needs: "none", page: "watch" },

  jsonWithBody("POST", "/rooms/:code/join", "join", postJoin),
  jsonWithBody("PUT", "/v1/rooms/:code/participants/:id", "join", putParticipant),
  jsonWithBody("PUT", "/v1/rooms/:code/participants/:id/features", "change", putFeatures),
  json("DELETE", "/rooms/:code/leave/:id", "share", deleteParticipant),
  json("DELETE", "/v1/rooms/:code/participants/:id", "share", deleteParticipant),
  ...both(json("GET", "/rooms/:code/participants", "any", listParticipants)),
  json("GET", "/v1/rooms/:code/participants/:id", "any", getParticipant),
  jsonWithBody("POST", "/rooms/:code/health", "share", postHeartbeat),
  json("POST", "/v1/rooms/:code/participants/:id/heartbeat", "share", postParticipantHeartbeat),
  {
    kind: "tunnel",
    method: "GET",
    path: "/v1/rooms/:code/participants/:id/tunnel",
    needs: "share",
  },
  json("GET", "/v1/cluster/hubs", "none", listHubs),
  { kind: "hop", method: "GET", path: "/v1/cluster/hop", needs: "none" },

  ...events("/rooms/:code/events", "watch"),
  ...events("/events", "none"),

  ...both(json("GET", "/rooms/:code/requests", "watch", listRequests)),
  ...both(json("GET", "/rooms/:code/route", "use", getRoute)),

  ...both(json("GET", "/rooms/:code/aliases", "any", listAliases)),
  ...both(jsonWithBody("POST", "/rooms/:code/aliases", "change", postAlias)),
  ...both(json("DELETE", "/rooms/:code/aliases", "change", deleteAlias)),

  ...both(jsonWithBody("PUT", "/rooms/:code", "host", putRoom)),
  ...both(json("DELETE", "/rooms/:code", "host", deleteRoom)),
  ...both(json("POST", "/rooms/:code/participants/:id/kick", "host", postKick)),
  ...both(json("GET", "/rooms/:code/bans", "host", listBans)),
  ...both(json("DELETE", "/rooms/:code/bans/:id", "host", deleteBan)),
  ...both(json("GET", "/rooms/:code/blocked", "host", listBlocked)),
  ...both(json("PUT", "/rooms/:code/blocked/:client", "host", putBlocked)),
  ...both(json("DELETE", "/rooms/:code/blocked/:client", "host", deleteBlocked)),
  ...both(json("POST", "/rooms/:code/close", "host", postClose)),
  ...both(json("POST", "/rooms/:code/open", "host", postOpen)),
  ...both(json("GET", "/rooms/:code/keys", "host", listKeys)),
  ...both(jsonWithBody("POST", "/rooms/:code/keys", "host", postKey)),
  ...both(json("DELETE", "/rooms/:code/keys/:key", "host", deleteKey)),
  ...both(json("POST", "/rooms/:code/keys/:key/rotate", "host", postRotation)),

  json("GET", "/rooms/:code/v1/models", "use", listModels),
  json("GET", "/v1/rooms/:code/models", "use", listModels),
  json("GET", "/rooms/:code/v1/models/:model", "use", getModel),
  json("GET", "/v1/rooms/:code/models/:model", "use", getModel),
  ...inference("/rooms/:code/v1"),
  ...inference("/v1/rooms/:code"),
  { kind: "responses-socket", method: "GET", path: "/rooms/:code/v1/responses", needs: "infer" },
  { kind: "responses-socket", method: "GET", path: "/v1/rooms/:code/responses", needs: "infer" },
  ...storedResponses("/rooms/:code/v1"),
  ...storedResponses("/v1/rooms/:code"),
];
