import { bodyErrors } from "./errors.ts";
import { json, type Operation } from "./operation.ts";

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
    "Sent by a client that reconnects: then the stream does not begin with the room's creation. Nothing is replayed",
} as const;

const eventFraming =
  "`retry: 2000` and a comment first; then per event one `id` (`<bootId>-<n>`), one `event` and one `data` line of JSON, and a blank line. A comment after 15 s of silence. The schema is that of `data`.";

/** Hub, rooms, participants and events. */
export const managementOperations: readonly Operation[] = [
  {
    id: "getHealth",
    tag: "Hub",
    summary: "Whether the hub is well",
    routes: ["GET /health", "GET /v1/health"],
    answers: { 200: json("It is.", "Health"), 503: json("It is stopping.", "Health") },
    errors: [],
  },
  {
    id: "getOpenApi",
    tag: "Hub",
    summary: "This document",
    routes: ["GET /openapi.json", "GET /v1/openapi.json"],
    answers: {
      200: {
        description: "OpenAPI 3.1.",
        content: { "application/json": "AnyObject" },
        headers: ["etag"],
      },
      304: { description: "It is the one of `if-none-match`.", headers: ["etag"] },
    },
    errors: [],
  },

  {
    id: "createRoom",
    tag: "Rooms",
    summary: "Open a room",
    routes: ["POST /rooms", "POST /v1/rooms"],
    body: "CreateRoomRequest",
    answers: { 201: json("The room.", "CreateRoomResponse") },
    errors: [...bodyErrors, "rate_limit_exceeded", "room_limit_reached"],
  },
  {
    id: "listRooms",
    tag: "Rooms",
    summary: "All rooms, in creation order",
    routes: ["GET /rooms", "GET /v1/rooms"],
    answers: { 200: json("The rooms.", "RoomListResponse") },
    errors: [],
  },
  {
    id: "getRoom",
    tag: "Rooms",
    summary: "One room",
    routes: ["GET /rooms/:code", "GET /v1/rooms/:code"],
    answers: { 200: json("The room.", "RoomResponse") },
    errors: ["room_not_found"],
  },

  {
    id: "joinRoom",
    tag: "Participants",
    summary: "Join a room, or join it again",
    description:
      "By its owner, a join of a known id replaces all fields. In a protected room the password is needed, unless the token shows whose registration it is.",
    routes: ["POST /rooms/:code/join"],
    body: "JoinRequest",
    answers: {
      200: json("Joined again.", "JoinResponse"),
      201: json("Joined; a token was minted.", "JoinResponse"),
    },
    errors: joinErrors,
    token: "optional",
  },
  {
    id: "putParticipant",
    tag: "Participants",
    summary: "Join under this id, or change what is registered",
    description:
      "An unknown id joins and needs what a join needs, but the id. Of a known one the owner changes any subset of fields; no password, no new token, an open tunnel stays.",
    routes: ["PUT /v1/rooms/:code/participants/:id"],
    body: "UpdateParticipantRequest",
    answers: {
      200: json("Changed.", "JoinResponse"),
      201: json("Joined; a token was minted.", "JoinResponse"),
    },
    errors: [...joinErrors, "participant_token_required"],
    token: "optional",
  },
  {
    id: "leaveRoom",
    tag: "Participants",
    summary: "Leave",
    routes: ["DELETE /rooms/:code/leave/:id", "DELETE /v1/rooms/:code/participants/:id"],
    answers: { 200: json("Gone.", "SuccessResponse") },
    errors: ownerErrors,
    token: "optional",
  },
  {
    id: "listParticipants",
    tag: "Participants",
    summary: "All participants in join order, offline ones too",
    routes: ["GET /rooms/:code/participants", "GET /v1/rooms/:code/participants"],
    answers: { 200: json("The participants.", "ParticipantListResponse") },
    errors: ["room_not_found"],
  },
  {
    id: "getParticipant",
    tag: "Participants",
    summary: "One participant",
    routes: ["GET /v1/rooms/:code/participants/:id"],
    answers: { 200: json("The participant.", "ParticipantResponse") },
    errors: ["room_not_found", "participant_not_found"],
  },
  {
    id: "postHeartbeat",
    tag: "Participants",
    summary: "Say that a participant is alive",
    routes: ["POST /rooms/:code/health"],
    body: "HeartbeatRequest",
    answers: { 200: json("Noted.", "HeartbeatResponse") },
    errors: [...bodyErrors, "invalid_id", ...ownerErrors],
    token: "optional",
  },
  {
    id: "heartbeat",
    tag: "Participants",
    summary: "Say that this participant is alive",
    routes: ["POST /v1/rooms/:code/participants/:id/heartbeat"],
    answers: { 200: json("Noted.", "HeartbeatResponse") },
    errors: ownerErrors,
    token: "optional",
  },
  {
    id: "openTunnel",
    tag: "Participants",
    summary: "Dial in and be asked through this connection",
    description:
      "A WebSocket of the subprotocol `roomhub.tunnel.v1`; its frames are in docs/reference/tunnel.md. Web pages are refused.",
    routes: ["GET /v1/rooms/:code/participants/:id/tunnel"],
    answers: { 101: { description: "The tunnel is open." } },
    errors: [
      ...ownerErrors,
      "origin_not_allowed",
      "upgrade_required",
      "tunnel_flapping",
      "hub_draining",
    ],
    token: "required",
  },

  {
    id: "watchRoom",
    tag: "Events",
    summary: "Watch one room; names with colons",
    description: eventFraming,
    routes: ["GET /rooms/:code/events"],
    parameters: [lastEventId],
    answers: { 200: events("ColonEvent") },
    errors: ["room_not_found", "too_many_subscribers"],
  },
  {
    id: "watchRoom",
    tag: "Events",
    summary: "Watch one room; names with dots",
    description: eventFraming,
    routes: ["GET /v1/rooms/:code/events"],
    parameters: [lastEventId],
    answers: { 200: events("DotEvent") },
    errors: ["room_not_found", "too_many_subscribers"],
  },
  {
    id: "watchHub",
    tag: "Events",
    summary: "Watch all rooms; names with colons",
    description: eventFraming,
    routes: ["GET /events"],
    answers: { 200: events("ColonEvent") },
    errors: ["too_many_subscribers"],
  },
  {
    id: "watchHub",
    tag: "Events",
    summary: "Watch all rooms; names with dots",
    description: eventFraming,
    routes: ["GET /v1/events"],
    answers: { 200: events("DotEvent") },
    errors: ["too_many_subscribers"],
  },
];

function events(schema: string) {
  return { description: "A stream without an end.", content: { "text/event-stream": schema } };
}
