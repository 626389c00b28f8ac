import { type RoomListResponse, RouteQuestion } from "@roomhub/protocol";
import { listRequests as requestsIn } from "../../inference/in-flight.ts";
import { requiresOf } from "../../inference/request/needs.ts";
import { permitsOf } from "../../operations/access.ts";
import { explainRoute } from "../../operations/explain-route.ts";
import * as participants from "../../operations/participants.ts";
import * as rooms from "../../operations/rooms.ts";
import type { JsonHandler } from "../route.ts";
import { ok, param, parse } from "./parse.ts";

/** `POST /rooms`. Interface §4. */
export const postRoom: JsonHandler = async (request, deps) => {
  const room = parse(deps.schemas.createRoom, request.body);
  return { status: 201, body: await rooms.createRoom(deps.operations, room, request.peer) };
};

/** `GET /rooms`. Interface §4; contract §8 for several hubs. */
export const listRooms: JsonHandler = async (request, { operations, cluster, piped }) => {
  // Another hub requests what it does not know itself.
  if (piped !== undefined) return ok({ rooms: rooms.listRoomsInUse(operations) });
  const elsewhere = await cluster?.roomsElsewhere();
  const { unreachable = [] } = elsewhere ?? {};
  const body: RoomListResponse = {
    rooms: rooms.listRooms(operations, elsewhere?.rooms, request.peer),
    unreachable: unreachable.length === 0 ? undefined : [...unreachable],
  };
  return ok(body);
};

/** `GET /rooms/:code`. Contract §1. */
export const getRoom: JsonHandler = ({ code }, { operations }) =>
  ok({ room: rooms.getRoom(operations, code) });

/** `GET …/models`. Interface §2, model list entry; for Anthropic's clients contract §4. */
export const listModels: JsonHandler = ({ code, shape, peer }, { operations }) =>
  ok(participants.listModels(operations, code, shape, peer));

/** `GET …/models/:id`: an id or any selector form, percent-encoded. Contract §4. */
export const getModel: JsonHandler = (request, { operations }) => {
  const { code, shape, peer } = request;
  return ok(participants.getModel(operations, code, param(request, "model"), shape, peer));
};

/** `GET …/requests`: the requests that run or wait now. Contract §5, "Detail". */
export const listRequests: JsonHandler = (request, deps) => {
  const { code } = rooms.getRoom(deps.operations, request.code);
  return ok({ requests: requestsIn(deps.inference, code) });
};

/** `GET …/route?model=…&protocol=…`: where a request would go now, and why. */
export const getRoute: JsonHandler = (request, { operations, inference }) => {
  const { code } = rooms.getRoom(operations, request.code);
  const question = parse(RouteQuestion, Object.fromEntries(request.query));
  const requires = requiresOf(question.require);
  const permits = permitsOf(request.peer);
  const isBatch = question.priority === "batch";
  const waiting = inference.dispatch.queues.sizeOf(code, isBatch);
  return ok(explainRoute(operations, code, { ...question, requires, permits, waiting }));
};
