import { bodyErrors } from "./errors.ts";
import { both, json, type Operation, operation } from "./operation.ts";

const hostErrors = ["room_not_found", "host_token_required", "cluster_unavailable"] as const;

/** What the host of a room may do. @param about - its errors are those beside the errors of each */
function ofHost(
  id: string,
  tag: Operation["tag"],
  route: string,
  { errors = [], ...about }: Parameters<typeof operation>[3],
): Operation {
  const all = [...hostErrors, ...errors];
  return operation(id, tag, both(route), { ...about, errors: all, token: "keeper" });
}

/** Who may use a closed room, and what the host of any may do. */
export const keyOperations: readonly Operation[] = [
  ofHost("closeRoom", "Keys", "POST /rooms/:code/close", {
    summary: "Close a room: from then on its use needs a key",
    successes: { 200: json("It is closed.", "RoomResponse") },
  }),
  ofHost("openRoom", "Keys", "POST /rooms/:code/open", {
    summary: "Open a room; its keys are kept",
    successes: { 200: json("It is open.", "RoomResponse") },
  }),
  {
    ...ofHost("listKeys", "Keys", "GET /rooms/:code/keys", {
      summary: "The keys of a room, the oldest first, with those that ended within 30 days",
      successes: { 200: json("The keys, without their values.", "KeyListResponse") },
    }),
    errors: ["room_not_found", "host_token_required"],
  },
  ofHost("createKey", "Keys", "POST /rooms/:code/keys", {
    summary: "Create a key",
    body: "CreateKeyRequest",
    successes: { 201: json("The key, with its value.", "NewKeyResponse") },
    errors: [...bodyErrors, "key_name_taken", "too_many_keys"],
  }),
  ofHost("revokeKey", "Keys", "DELETE /rooms/:code/keys/:key", {
    summary: "Revoke a key",
    successes: { 200: json("It is revoked.", "KeyResponse") },
    errors: ["key_not_found"],
  }),
  ofHost("rotateKey", "Keys", "POST /rooms/:code/keys/:key/rotate", {
    summary: "Give a key another value",
    parameters: [
      {
        name: "graceMs",
        in: "query",
        description: "How long the value before is still valid, at most 30 days; 0 when left out",
        schema: { type: "integer", minimum: 0 },
      },
    ],
    successes: { 200: json("The key, with its new value.", "NewKeyResponse") },
    errors: ["key_not_found", "invalid_type"],
  }),
  ofHost("updateRoom", "Rooms", "PUT /rooms/:code", {
    summary: "Give a room another name or join password",
    body: "UpdateRoomRequest",
    successes: { 200: json("Changed.", "RoomResponse") },
    errors: bodyErrors,
  }),
  ofHost("deleteRoom", "Rooms", "DELETE /rooms/:code", {
    summary: "Delete a room, and end everything in it",
    successes: { 200: json("It is gone.", "SuccessResponse") },
  }),
  ofHost("kickParticipant", "Participants", "POST /rooms/:code/participants/:id/kick", {
    summary: "Remove a participant, and refuse its joins for a while",
    parameters: [
      {
        name: "banMs",
        in: "query",
        description: "For how long, at most 30 days; 60000 when left out",
        schema: { type: "integer", minimum: 0 },
      },
    ],
    successes: { 200: json("It is removed.", "SuccessResponse") },
    errors: ["participant_not_found", "invalid_type"],
  }),
  ofHost("listBans", "Rooms", "GET /rooms/:code/bans", {
    summary: "List the participants that were removed and may not join again yet",
    successes: { 200: json("The oldest first.", "BansResponse") },
  }),
  ofHost("liftBan", "Rooms", "DELETE /rooms/:code/bans/:id", {
    summary: "Let a participant that was removed join again",
    description: "From its machine and address, too. The response has the bans that are left.",
    successes: { 200: json("It may join.", "BansResponse") },
  }),
  ofHost("listBlocked", "Rooms", "GET /rooms/:code/blocked", {
    summary: "List the clients whose requests are refused",
    successes: { 200: json("The oldest first.", "BlockedResponse") },
  }),
  ofHost("blockClient", "Rooms", "PUT /rooms/:code/blocked/:client", {
    summary: "Refuse the requests of a client",
    description:
      "By its name or fingerprint, as events show it, or by its address. What it runs ends.",
    successes: { 200: json("It is blocked.", "BlockedResponse") },
    errors: ["invalid_type"],
  }),
  ofHost("unblockClient", "Rooms", "DELETE /rooms/:code/blocked/:client", {
    summary: "Let a blocked client send requests again",
    successes: { 200: json("It is not blocked.", "BlockedResponse") },
    errors: ["invalid_type"],
  }),
];
