import { SURFACES } from "@roomhub/protocol";
import { deleteAlias, listAliases, postAlias } from "./handlers/aliases.ts";
import { getHealth, listHubs } from "./handlers/hub.ts";
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
import type { HttpMethod, JsonHandler, Route } from "./route.ts";

function json(method: HttpMethod, path: string, handle: JsonHandler): Route {
  return { kind: "json", method, path, hasBody: false, handle };
}

function jsonWithBody(method: HttpMethod, path: string, handle: JsonHandler): Route {
  return { kind: "json", method, path, hasBody: true, handle };
}

function inference(base: string): Route[] {
  return SURFACES.map((surface) => ({
    kind: "inference",
    method: "POST",
    path: `${base}/${surface.path}`,
    surface,
  }));
}

/** Contract §4: stored responses, requested from the participant that created them. */
function storedResponses(base: string): Route[] {
  const one = `${base}/responses/:responseId`;
  return [
    { kind: "stored-response", method: "GET", path: one, suffix: "" },
    { kind: "stored-response", method: "DELETE", path: one, suffix: "" },
    { kind: "stored-response", method: "POST", path: `${one}/cancel`, suffix: "/cancel" },
    { kind: "stored-response", method: "GET", path: `${one}/input_items`, suffix: "/input_items" },
  ];
}

/** The whole surface. Interface §4, contract §1: both families end in the same operations. */
export const ROUTES: readonly Route[] = [
  json("GET", "/health", getHealth),
  json("GET", "/v1/health", getHealth),
  { kind: "openapi", method: "GET", path: "/openapi.json" },
  { kind: "openapi", method: "GET", path: "/v1/openapi.json" },

  { kind: "page", method: "GET", path: "/", page: "hub" },
  { kind: "program", method: "GET", path: "/roomhub.tgz" },
  { kind: "program", method: "GET", path: "/roomhub-:version.tgz" },
  { kind: "sdk", method: "GET", path: "/roomhub-client.tgz" },
  { kind: "monitor", method: "GET", path: "/monitor" },
  { kind: "monitor", method: "GET", path: "/monitor/*" },

  jsonWithBody("POST", "/rooms", postRoom),
  jsonWithBody("POST", "/v1/rooms", postRoom),
  json("GET", "/rooms", listRooms),
  json("GET", "/v1/rooms", listRooms),
  {
    kind: "json",
    method: "GET",
    path: "/rooms/:code",
    hasBody: false,
    handle: getRoom,
    page: "room",
  },
  json("GET", "/v1/rooms/:code", getRoom),
  { kind: "page", method: "GET", path: "/rooms/:code/watch", page: "watch" },

  jsonWithBody("POST", "/rooms/:code/join", postJoin),
  jsonWithBody("PUT", "/v1/rooms/:code/participants/:id", putParticipant),
  jsonWithBody("PUT", "/v1/rooms/:code/participants/:id/features", putFeatures),
  json("DELETE", "/rooms/:code/leave/:id", deleteParticipant),
  json("DELETE", "/v1/rooms/:code/participants/:id", deleteParticipant),
  json("GET", "/rooms/:code/participants", listParticipants),
  json("GET", "/v1/rooms/:code/participants", listParticipants),
  json("GET", "/v1/rooms/:code/participants/:id", getParticipant),
  jsonWithBody("POST", "/rooms/:code/health", postHeartbeat),
  json("POST", "/v1/rooms/:code/participants/:id/heartbeat", postParticipantHeartbeat),
  { kind: "tunnel", method: "GET", path: "/v1/rooms/:code/participants/:id/tunnel" },
  json("GET", "/v1/cluster/hubs", listHubs),
  { kind: "hop", method: "GET", path: "/v1/cluster/hop" },

  { kind: "events", method: "GET", path: "/rooms/:code/events", spelling: "colon" },
  { kind: "events", method: "GET", path: "/v1/rooms/:code/events", spelling: "dot" },
  { kind: "events", method: "GET", path: "/events", spelling: "colon" },
  { kind: "events", method: "GET", path: "/v1/events", spelling: "dot" },

  json("GET", "/rooms/:code/requests", listRequests),
  json("GET", "/v1/rooms/:code/requests", listRequests),
  json("GET", "/rooms/:code/route", getRoute),
  json("GET", "/v1/rooms/:code/route", getRoute),

  json("GET", "/rooms/:code/aliases", listAliases),
  json("GET", "/v1/rooms/:code/aliases", listAliases),
  jsonWithBody("POST", "/rooms/:code/aliases", postAlias),
  jsonWithBody("POST", "/v1/rooms/:code/aliases", postAlias),
  json("DELETE", "/rooms/:code/aliases", deleteAlias),
  json("DELETE", "/v1/rooms/:code/aliases", deleteAlias),

  json("GET", "/rooms/:code/v1/models", listModels),
  json("GET", "/v1/rooms/:code/models", listModels),
  json("GET", "/rooms/:code/v1/models/:model", getModel),
  json("GET", "/v1/rooms/:code/models/:model", getModel),
  ...inference("/rooms/:code/v1"),
  ...inference("/v1/rooms/:code"),
  { kind: "responses-socket", method: "GET", path: "/rooms/:code/v1/responses" },
  { kind: "responses-socket", method: "GET", path: "/v1/rooms/:code/responses" },
  ...storedResponses("/rooms/:code/v1"),
  ...storedResponses("/v1/rooms/:code"),
];
