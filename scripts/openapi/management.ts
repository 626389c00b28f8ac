import { bodyErrors } from "./errors.ts";
import { both, json, type Operation, operation } from "./operation.ts";

const joinErrors = [
  ...bodyErrors,
  "room_not_found",
  "invalid_id",
  "invalid_endpoint",
  "invalid_auth_header",
  "invalid_nickname",
  "invalid_password",
  "too_many_attempts",
  "participant_token_invalid",
  "participant_banned",
  "participant_id_taken",
  "participant_id_conflicts",
  "participant_limit_reached",
] as const;

const ownerErrors = [
  "room_not_found",
  "participant_not_found",
  "participant_token_required",
  "participant_token_invalid",
] as const;

const lastEventId = {
  name: "last-event-id",
  in: "header",
  description:
    "Sent by a client that reconnects: the stream then does not begin with the room's creation. Nothing is replayed",
} as const;

const detail = {
  name: "detail",
  in: "query",
  description:
    "`1`: also the events `request.queued`, `request.first` and `request.progress`, of requests that wait and generate. They have no `id`",
  schema: { type: "string", enum: ["1"] },
} as const;

const eventFraming =
  "`retry: 2000` and a comment first; then per event one `id` (`<bootId>-<n>`), one `event` and one `data` line of JSON, and a blank line. A comment after 15 s of silence. The schema is that of `data`.";

const handedOut = {
  200: { description: "A gzipped tar.", headers: ["etag", "repr-digest"] },
  304: { description: "Unchanged since the one in `if-none-match`.", headers: ["etag"] },
};

/** Hub, rooms, participants and events. */
export const managementOperations: readonly Operation[] = [
  operation("getHealth", "Hub", both("GET /health"), {
    summary: "Whether the hub is running",
    successes: { 200: json("It is running.", "Health"), 503: json("It is stopping.", "Health") },
  }),
  operation("getOpenApi", "Hub", both("GET /openapi.json"), {
    summary: "This document",
    successes: {
      200: {
        description: "OpenAPI 3.1.",
        content: { "application/json": "AnyObject" },
        headers: ["etag"],
      },
      304: { description: "Unchanged since the one in `if-none-match`.", headers: ["etag"] },
    },
  }),

  operation("getHubPage", "Hub", ["GET /"], {
    summary: "The hub's rooms, for people",
    description:
      "Only where `Accept` names `text/html`, and not below `application/json`; else 404 `not_found`. `GET /rooms/{code}` is a page under the same condition.",
    successes: { 200: { description: "HTML." } },
  }),
  operation("getProgram", "Hub", ["GET /roomhub.tgz"], {
    summary: "The hub's own program as an npm package",
    description: "Not with `--no-handout`.",
    successes: handedOut,
    errors: ["handout_unavailable"],
  }),
  operation("getProgramOfVersion", "Hub", ["GET /roomhub-:version.tgz"], {
    summary: "The same, under a URL that never changes",
    successes: handedOut,
    errors: ["handout_unavailable"],
  }),
  operation("getSdk", "Hub", ["GET /roomhub-client.tgz"], {
    summary: "The SDK, `@roomhub/client`, as an npm package",
    description: "Not with `--no-handout`.",
    successes: handedOut,
    errors: ["handout_unavailable"],
  }),
  operation("openMonitor", "Hub", ["GET /monitor"], {
    summary: "To the page that watches a room",
    successes: { 302: { description: "To `monitor/`, with the same query." } },
  }),
  operation("getMonitorFile", "Hub", ["GET /monitor/*"], {
    summary: "A file of the page that watches a room",
    successes: { 200: { description: "The file." } },
    errors: ["handout_unavailable"],
  }),

  operation("createRoom", "Rooms", both("POST /rooms"), {
    summary: "Create a room",
    body: "CreateRoomRequest",
    successes: { 201: json("The room.", "CreateRoomResponse") },
    errors: [...bodyErrors, "operator_required", "rate_limit_exceeded", "room_limit_reached"],
  }),
  operation("listRooms", "Rooms", both("GET /rooms"), {
    summary: "All rooms, in creation order",
    successes: { 200: json("The rooms.", "RoomListResponse") },
  }),
  operation("getRoom", "Rooms", both("GET /rooms/:code"), {
    summary: "One room",
    successes: { 200: json("The room.", "RoomResponse") },
    errors: ["room_not_found"],
  }),

  operation("openRoomMonitor", "Rooms", ["GET /rooms/:code/watch"], {
    summary: "To the page that watches the room, for people",
    description:
      "Only where `Accept` names `text/html`, and not below `application/json`, and not with `--no-handout`; else 404 `not_found`.",
    successes: { 302: { description: "To `/monitor/`, with the room in its query." } },
    errors: ["room_not_found"],
  }),

  operation("listAliases", "Aliases", both("GET /rooms/:code/aliases"), {
    summary: "The aliases of a room, the oldest first",
    successes: { 200: json("The aliases.", "AliasListResponse") },
    errors: ["room_not_found"],
  }),
  operation("putAlias", "Aliases", both("POST /rooms/:code/aliases"), {
    summary: "Add an alias, or give a known pattern other targets",
    body: "AliasRequest",
    successes: {
      200: json("The pattern was known.", "AliasResponse"),
      201: json("It is new.", "AliasResponse"),
    },
    errors: [
      ...bodyErrors,
      "room_not_found",
      "host_token_required",
      "alias_loop",
      "alias_limit_reached",
      "cluster_unavailable",
    ],
    token: "host",
  }),
  operation("deleteAlias", "Aliases", both("DELETE /rooms/:code/aliases"), {
    summary: "Remove an alias",
    parameters: [
      { name: "pattern", in: "query", description: "Exactly as it is listed", required: true },
    ],
    successes: { 200: json("It is removed.", "SuccessResponse") },
    errors: [
      "room_not_found",
      "host_token_required",
      "missing_required_parameter",
      "alias_not_found",
      "cluster_unavailable",
    ],
    token: "host",
  }),

  operation("joinRoom", "Participants", ["POST /rooms/:code/join"], {
    summary: "Join a room, or join it again",
    description:
      "A join of a known id by its owner replaces all fields. In a protected room the join password is required, unless the token proves ownership.",
    parameters: [
      {
        name: "if-none-match",
        in: "header",
        description:
          "`*`: takes no id over that exists, except the agent's own, and after a restart that of the agent that ended on its machine",
        schema: { type: "string", enum: ["*"] },
      },
    ],
    body: "JoinRequest",
    successes: {
      200: json("Joined again.", "JoinResponse"),
      201: json("Joined; a new token was issued.", "JoinResponse"),
    },
    errors: joinErrors,
    token: "optional",
  }),
  operation("putParticipant", "Participants", ["PUT /v1/rooms/:code/participants/:id"], {
    summary: "Join under this id, or change what is registered",
    description:
      "An unknown id joins and needs the fields of a join, except the id. For a known id the owner changes any subset of fields: no password, no new token, and an open tunnel stays open.",
    body: "UpdateParticipantRequest",
    successes: {
      200: json("Changed.", "JoinResponse"),
      201: json("Joined; a new token was issued.", "JoinResponse"),
    },
    errors: [...joinErrors, "participant_token_required"],
    token: "optional",
  }),
  operation("putFeatures", "Participants", ["PUT /v1/rooms/:code/participants/:id/features"], {
    summary: "Report what requests have shown of a participant's model",
    description:
      "Replaces what was reported this way before; `{}` takes it back. `roomhub bench` sends it.",
    body: "MeasuredFeatures",
    successes: { 200: json("Taken.", "ParticipantResponse") },
    errors: [...bodyErrors, "room_not_found", "participant_not_found", "host_token_required"],
    token: "host",
  }),
  operation(
    "leaveRoom",
    "Participants",
    ["DELETE /rooms/:code/leave/:id", "DELETE /v1/rooms/:code/participants/:id"],
    {
      summary: "Leave the room",
      successes: { 200: json("Removed.", "SuccessResponse") },
      errors: ownerErrors,
      token: "optional",
    },
  ),
  operation("listParticipants", "Participants", both("GET /rooms/:code/participants"), {
    summary: "All participants in join order, offline ones too",
    successes: { 200: json("The participants.", "ParticipantListResponse") },
    errors: ["room_not_found"],
  }),
  operation("getParticipant", "Participants", ["GET /v1/rooms/:code/participants/:id"], {
    summary: "One participant",
    successes: { 200: json("The participant.", "ParticipantResponse") },
    errors: ["room_not_found", "participant_not_found"],
  }),
  operation("postHeartbeat", "Participants", ["POST /rooms/:code/health"], {
    summary: "Send a heartbeat; the participant's id is in the body",
    body: "HeartbeatRequest",
    successes: { 200: json("Recorded.", "HeartbeatResponse") },
    errors: [...bodyErrors, "invalid_id", ...ownerErrors],
    token: "optional",
  }),
  operation("heartbeat", "Participants", ["POST /v1/rooms/:code/participants/:id/heartbeat"], {
    summary: "Send a heartbeat",
    successes: { 200: json("Recorded.", "HeartbeatResponse") },
    errors: ownerErrors,
    token: "optional",
  }),
  operation("openTunnel", "Participants", ["GET /v1/rooms/:code/participants/:id/tunnel"], {
    summary: "Open a tunnel and serve requests through it",
    description:
      "A WebSocket with the subprotocol `roomhub.tunnel.v1`; its frames are in docs/reference/tunnel.md. Requests from web pages are refused.",
    successes: { 101: { description: "The tunnel is open." } },
    errors: [
      ...ownerErrors,
      "origin_not_allowed",
      "upgrade_required",
      "session_elsewhere",
      "home_elsewhere",
      "tunnel_flapping",
      "hub_draining",
    ],
    token: "required",
  }),

  operation("listHubs", "Hub", ["GET /v1/cluster/hubs"], {
    summary: "The hubs of the cluster, and the links to them",
    successes: {
      200: json("This hub first, the others by id. 404 at a hub that is alone.", "HubList"),
    },
    errors: ["not_found"],
  }),
  operation("openHop", "Hub", ["GET /v1/cluster/hop"], {
    summary: "Connect two hubs of a cluster",
    description:
      "An upgrade to `roomhub-hop`, by another hub that proves the cluster's secret: for requests of rooms that have their home here. 404 at a hub that is alone.",
    successes: { 101: { description: "The other hub is proven." } },
    errors: ["not_found", "upgrade_required"],
  }),

  operation("listRequests", "Events", both("GET /rooms/:code/requests"), {
    summary: "The requests that run or wait now, the oldest first",
    description:
      "For programs that open an event stream while requests run: open the stream first, then read this list.",
    successes: { 200: json("The requests.", "RequestListResponse") },
    errors: ["room_not_found"],
  }),
  operation("watchRoom", "Events", ["GET /rooms/:code/events"], {
    summary: "Watch one room; names with colons",
    description: eventFraming,
    parameters: [detail, lastEventId],
    successes: { 200: events("ColonEvent") },
    errors: ["room_not_found", "too_many_subscribers"],
  }),
  operation("watchRoom", "Events", ["GET /v1/rooms/:code/events"], {
    summary: "Watch one room; names with dots",
    description: eventFraming,
    parameters: [detail, lastEventId],
    successes: { 200: events("DotEvent") },
    errors: ["room_not_found", "too_many_subscribers"],
  }),
  operation("watchHub", "Events", ["GET /events"], {
    summary: "Watch all rooms; names with colons",
    description: eventFraming,
    parameters: [detail],
    successes: { 200: events("ColonEvent") },
    errors: ["too_many_subscribers"],
  }),
  operation("watchHub", "Events", ["GET /v1/events"], {
    summary: "Watch all rooms; names with dots",
    description: eventFraming,
    parameters: [detail],
    successes: { 200: events("DotEvent") },
    errors: ["too_many_subscribers"],
  }),
];

function events(schema: string) {
  return { description: "A stream without an end.", content: { "text/event-stream": schema } };
}
