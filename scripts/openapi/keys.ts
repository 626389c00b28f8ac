import { bodyErrors } from "./errors.ts";
import { json, type Operation } from "./operation.ts";

const keeperErrors = ["room_not_found", "host_token_required", "cluster_unavailable"] as const;

/** Who may use a closed room, and what the host of any may do. */
export const keyOperations: readonly Operation[] = [
  {
    id: "closeRoom",
    tag: "Keys",
    summary: "Close a room: from then on its use needs a key",
    routes: ["POST /rooms/:code/close", "POST /v1/rooms/:code/close"],
    successes: { 200: json("It is closed.", "RoomResponse") },
    errors: keeperErrors,
    token: "keeper",
  },
  {
    id: "openRoom",
    tag: "Keys",
    summary: "Open a room; its keys are kept",
    routes: ["POST /rooms/:code/open", "POST /v1/rooms/:code/open"],
    successes: { 200: json("It is open.", "RoomResponse") },
    errors: keeperErrors,
    token: "keeper",
  },
  {
    id: "listKeys",
    tag: "Keys",
    summary: "The keys of a room, the oldest first, with those that ended within 30 days",
    routes: ["GET /rooms/:code/keys", "GET /v1/rooms/:code/keys"],
    successes: { 200: json("The keys, without their values.", "KeyListResponse") },
    errors: ["room_not_found", "host_token_required"],
    token: "keeper",
  },
  {
    id: "createKey",
    tag: "Keys",
    summary: "Create a key",
    routes: ["POST /rooms/:code/keys", "POST /v1/rooms/:code/keys"],
    body: "CreateKeyRequest",
    successes: { 201: json("The key, with its value.", "NewKeyResponse") },
    errors: [...bodyErrors, ...keeperErrors, "key_name_taken", "too_many_keys"],
    token: "keeper",
  },
  {
    id: "revokeKey",
    tag: "Keys",
    summary: "Revoke a key",
    routes: ["DELETE /rooms/:code/keys/:key", "DELETE /v1/rooms/:code/keys/:key"],
    successes: { 200: json("It is revoked.", "KeyResponse") },
    errors: [...keeperErrors, "key_not_found"],
    token: "keeper",
  },
  {
    id: "rotateKey",
    tag: "Keys",
    summary: "Give a key another value",
    routes: ["POST /rooms/:code/keys/:key/rotate", "POST /v1/rooms/:code/keys/:key/rotate"],
    parameters: [
      {
        name: "graceMs",
        in: "query",
        description: "How long the value before is still valid, at most 30 days; 0 when left out",
        schema: { type: "integer", minimum: 0 },
      },
    ],
    successes: { 200: json("The key, with its new value.", "NewKeyResponse") },
    errors: [...keeperErrors, "key_not_found", "invalid_type"],
    token: "keeper",
  },

  {
    id: "updateRoom",
    tag: "Rooms",
    summary: "Give a room another name or join password",
    routes: ["PUT /rooms/:code", "PUT /v1/rooms/:code"],
    body: "UpdateRoomRequest",
    successes: { 200: json("Changed.", "RoomResponse") },
    errors: [...bodyErrors, ...keeperErrors],
    token: "keeper",
  },
  {
    id: "deleteRoom",
    tag: "Rooms",
    summary: "Delete a room, and end everything in it",
    routes: ["DELETE /rooms/:code", "DELETE /v1/rooms/:code"],
    successes: { 200: json("It is gone.", "SuccessResponse") },
    errors: keeperErrors,
    token: "keeper",
  },
  {
    id: "kickParticipant",
    tag: "Participants",
    summary: "Remove a participant, and refuse its joins for a while",
    routes: [
      "POST /rooms/:code/participants/:id/kick",
      "POST /v1/rooms/:code/participants/:id/kick",
    ],
    parameters: [
      {
        name: "banMs",
        in: "query",
        description: "For how long, at most 30 days; 60000 when left out",
        schema: { type: "integer", minimum: 0 },
      },
    ],
    successes: { 200: json("It is removed.", "SuccessResponse") },
    errors: [...keeperErrors, "participant_not_found", "invalid_type"],
    token: "keeper",
  },
];
