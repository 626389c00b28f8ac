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
import type { HttpMethod, JsonHandler, Route } from "./route.ts";

function json(method: HttpMethod, path: string, needs: Need, handle: JsonHandler): Route {
  return { kind: "json", method, path, needs, hasBody: false, handle };
}

function jsonWithBody(method: HttpMethod, path: string, needs: Need, handle: JsonHandler): Route {
  return { kind: "json", method, path, needs, hasBody: true, handle };
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
  const one = `${base}/responses/:responseId`;
  return [
    { kind: "stored-response", method: "GET", path: one, needs: "infer", suffix: "" },
    { kind: "stored-response", method: "DELETE", path: one, needs: "infer", suffix: "" },
    {
      kind: "stored-response",
      method: "POST",
      path: `${one}/cancel`,
      needs: "infer",
      suffix: "/cancel",
    },
    {
      kind: "stored-response",
      method: "GET",
      path: `${one}/input_items`,
      needs: "infer",
      suffix: "/input_items",
    },
  ];
}

/** The whole surface. Interface §4, contract §1: both families end in the same operations. */
export const ROUTES: readonly Route[] = [
  json("GET", "/health", "none", getHealth),
  json("GET", "/v1/health", "none", getHealth),
  { kind: "openapi", method: "GET", path: "/openapi.json", needs: "none" },
  { kind: "openapi", method: "GET", path: "/v1/openapi.json", needs: "none" },

  { kind: "page", method: "GET", path: "/", needs: "none", page: "hub" },
  { kind: "program", method: "GET", path: "/roomhub.tgz", needs: "none" },
  { kind: "program", method: "GET", path: "/roomhub-:version.tgz", needs: "none" },
  { kind: "sdk", method: "GET", path: "/roomhub-client.tgz", needs: "none" },
  { kind: "monitor", method: "GET", path: "/monitor", needs: "none" },
  { kind: "monitor", method: "GET", path: "/monitor/*", needs: "none" },

  jsonWithBody("POST", "/rooms", "none", postRoom),
  jsonWithBody("POST", "/v1/rooms", "none", postRoom),
  json("GET", "/rooms", "none", listRooms),
  json("GET", "/v1/rooms", "none", listRooms),
  {
    kind: "json",
    method: "GET",
    path: "/rooms/:code",
    needs: "any",
    hasBody: false,
    handle: getRoom,
    page: "room",
  },
  json("GET", "/v1/rooms/:code", "any", getRoom),
  { kind: "page", method: "GET", path: "/rooms/:code/watch", needs: "none", page: "watch" },

  jsonWithBody("POST", "/rooms/:code/join", "join", postJoin),
  jsonWithBody("PUT", "/v1/rooms/:code/participants/:id", "join", putParticipant),
  jsonWithBody("PUT", "/v1/rooms/:code/participants/:id/features", "change", putFeatures),
  json("DELETE", "/rooms/:code/leave/:id", "share", deleteParticipant),
  json("DELETE", "/v1/rooms/:code/participants/:id", "share", deleteParticipant),
  json("GET", "/rooms/:code/participants", "any", listParticipants),
  json("GET", "/v1/rooms/:code/participants", "any", listParticipants),
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

  { kind: "events", method: "GET", path: "/rooms/:code/events", needs: "watch", spelling: "colon" },
  {
    kind: "events",
    method: "GET",
    path: "/v1/rooms/:code/events",
    needs: "watch",
    spelling: "dot",
  },
  { kind: "events", method: "GET", path: "/events", needs: "none", spelling: "colon" },
  { kind: "events", method: "GET", path: "/v1/events", needs: "none", spelling: "dot" },

  json("GET", "/rooms/:code/requests", "watch", listRequests),
  json("GET", "/v1/rooms/:code/requests", "watch", listRequests),
  json("GET", "/rooms/:code/route", "use", getRoute),
  json("GET", "/v1/rooms/:code/route", "use", getRoute),

  json("GET", "/rooms/:code/aliases", "any", listAliases),
  json("GET", "/v1/rooms/:code/aliases", "any", listAliases),
  jsonWithBody("POST", "/rooms/:code/aliases", "change", postAlias),
  jsonWithBody("POST", "/v1/rooms/:code/aliases", "change", postAlias),
  json("DELETE", "/rooms/:code/aliases", "change", deleteAlias),
  json("DELETE", "/v1/rooms/:code/aliases", "change", deleteAlias),

  jsonWithBody("PUT", "/rooms/:code", "host", putRoom),
  jsonWithBody("PUT", "/v1/rooms/:code", "host", putRoom),
  json("DELETE", "/rooms/:code", "host", deleteRoom),
  json("DELETE", "/v1/rooms/:code", "host", deleteRoom),
  json("POST", "/rooms/:code/participants/:id/kick", "host", postKick),
  json("POST", "/v1/rooms/:code/participants/:id/kick", "host", postKick),
  json("GET", "/rooms/:code/bans", "host", listBans),
  json("GET", "/v1/rooms/:code/bans", "host", listBans),
  json("DELETE", "/rooms/:code/bans/:id", "host", deleteBan),
  json("DELETE", "/v1/rooms/:code/bans/:id", "host", deleteBan),
  json("GET", "/rooms/:code/blocked", "host", listBlocked),
  json("GET", "/v1/rooms/:code/blocked", "host", listBlocked),
  json("PUT", "/rooms/:code/blocked/:client", "host", putBlocked),
  json("PUT", "/v1/rooms/:code/blocked/:client", "host", putBlocked),
  json("DELETE", "/rooms/:code/blocked/:client", "host", deleteBlocked),
  json("DELETE", "/v1/rooms/:code/blocked/:client", "host", deleteBlocked),
  json("POST", "/rooms/:code/close", "host", postClose),
  json("POST", "/v1/rooms/:code/close", "host", postClose),
  json("POST", "/rooms/:code/open", "host", postOpen),
  json("POST", "/v1/rooms/:code/open", "host", postOpen),
  json("GET", "/rooms/:code/keys", "host", listKeys),
  json("GET", "/v1/rooms/:code/keys", "host", listKeys),
  jsonWithBody("POST", "/rooms/:code/keys", "host", postKey),
  jsonWithBody("POST", "/v1/rooms/:code/keys", "host", postKey),
  json("DELETE", "/rooms/:code/keys/:key", "host", deleteKey),
  json("DELETE", "/v1/rooms/:code/keys/:key", "host", deleteKey),
  json("POST", "/rooms/:code/keys/:key/rotate", "host", postRotation),
  json("POST", "/v1/rooms/:code/keys/:key/rotate", "host", postRotation),

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
