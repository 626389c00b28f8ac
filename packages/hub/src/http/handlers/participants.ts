import {
  ignoredMembers,
  type JoinResponse,
  type UpdateParticipantRequest,
  type Warning,
  isObject,
} from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import { joinParticipant, type JoinOutcome } from "../../operations/join-participant.ts";
import { featuresMeasured } from "../../operations/learned.ts";
import * as participants from "../../operations/participants.ts";
import { getRoom } from "../../operations/rooms.ts";
import { isKnownParticipant, updateParticipant } from "../../operations/update-participant.ts";
import { tunnelAddress } from "../tunnels/tunnel-address.ts";
import type { JsonHandler, RouteDeps, RouteRequest, RouteResponse } from "../route.ts";
import { ok, parse } from "./parse.ts";

/** `POST /rooms/:code/join`. Interface §4. */
export const postJoin: JsonHandler = async (request, deps) => {
  const { operations, schemas } = deps;
  const { code, peer, onlyIfNew } = request;
  // An unknown room is reported before anything that is wrong with the body.
  getRoom(operations, code);
  const joining = parse(schemas.join, request.body);
  const outcome = await joinParticipant(operations, code, joining, peer, onlyIfNew);
  return joinResponse(request, deps, joining, outcome);
};

/** `PUT /v1/rooms/:code/participants/:id`: a join when the id is unknown, else a change. Contract §1. */
export const putParticipant: JsonHandler = async (request, deps) => {
  const { operations, schemas } = deps;
  const { code, id, peer, onlyIfNew } = request;
  const isKnown = isKnownParticipant(operations, code, id);
  checkIdInBody(request.body, id);
  if (!isKnown) {
    const joining = parse(schemas.join, withId(request.body, id));
    const outcome = await joinParticipant(operations, code, joining, peer, onlyIfNew);
    return joinResponse(request, deps, joining, outcome);
  }
  const change = parse(schemas.updateParticipant, request.body);
  const outcome = await updateParticipant(operations, code, id, change, peer);
  return joinResponse(request, deps, change, {
    ...outcome,
    isNew: false,
    token: undefined,
    clientKey: undefined,
  });
};

/** `PUT /v1/rooms/:code/participants/:id/features`. Contract §3, "Features". */
export const putFeatures: JsonHandler = ({ code, id, body, peer }, { operations, schemas }) => {
  // An unknown participant is reported before anything that is wrong with the body.
  participants.getParticipant(operations, code, id);
  const measured = parse(schemas.measuredFeatures, body);
  const participant = featuresMeasured(operations, code, id, measured, peer);
  return ok({ participant: participants.viewOf(operations, participant) });
};

/** `DELETE …/leave/:id` and `DELETE …/participants/:id`. Interface §4. */
export const deleteParticipant: JsonHandler = async ({ code, id, peer }, { operations }) => {
  await participants.leaveParticipant(operations, code, id, peer);
  return ok({ success: true });
};

/** `GET …/participants`. Interface §4. */
export const listParticipants: JsonHandler = ({ code, peer }, { operations }) => {
  return { status: 200, json: participants.listParticipantsAsJson(operations, code, peer) };
};

/** `GET /v1/rooms/:code/participants/:id`. Contract §1. */
export const getParticipant: JsonHandler = ({ code, id, peer }, { operations }) =>
  ok({ participant: participants.getParticipant(operations, code, id, peer) });

/** `POST /rooms/:code/health`: a participant says it is alive. Interface §3. */
export const postHeartbeat: JsonHandler = ({ code, body, peer }, { operations, schemas }) => {
  const { id } = parse(schemas.heartbeat, body);
  return ok(participants.recordHeartbeat(operations, code, id, peer));
};

/** `POST /v1/rooms/:code/participants/:id/heartbeat`: the same; a body is not needed. Contract §1. */
export const postParticipantHeartbeat: JsonHandler = ({ code, id, peer }, { operations }) =>
  ok(participants.recordHeartbeat(operations, code, id, peer));

type Joined = Pick<JoinOutcome, "participant" | "room" | "isNew" | "token" | "clientKey"> & {
  warnings: Warning[];
};

function joinResponse(
  request: RouteRequest,
  { operations, cluster }: RouteDeps,
  read: Pick<UpdateParticipantRequest, "specs" | "config" | "capabilities">,
  { participant, room, isNew, token, clientKey, warnings: found }: Joined,
): RouteResponse {
  const warnings = [...ignoredMembers(request.body, read).map(ignoredWarning), ...found];
  // The hub that took the join, whatever stands in front of the cluster.
  const origin = cluster?.roll.ownUrl ?? request.origin;
  const body: JoinResponse = {
    participant: participants.viewOf(operations, participant),
    roomId: room.id,
    heartbeatWithinMs: operations.limits.offlineAfterMs,
    tunnel: tunnelAddress(origin, room.code, participant.id),
    hubs: cluster?.roll.advertisedUrls(),
    homeEpoch: cluster?.homes.epochHere(room.code),
    warnings: warnings.length === 0 ? undefined : warnings,
    participantToken: token,
    clientKey,
  };
  return { status: isNew ? 201 : 200, body };
}

function ignoredWarning(member: string): Warning {
  const message = `${member} was ignored: its value is not valid. Send a value that docs/reference/http.md lists.`;
  return { code: "field_ignored", message };
}

/** The body's id, if any, must be the path's. Contract §1. */
function checkIdInBody(body: unknown, id: string): void {
  const given = (body as { id?: unknown } | null)?.id;
  if (given === undefined || given === id) return;
  throw new HubError("invalid_id", "The id in the body is not the id in the path.", {
    param: "id",
    hint: "Leave it out of the body: the path already names the participant.",
  });
}

function withId(body: unknown, id: string): unknown {
  return isObject(body) ? { ...body, id } : body;
}
