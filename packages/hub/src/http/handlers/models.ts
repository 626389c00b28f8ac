import { getModel as findModel, listModels as listAll } from "../../operations/participants.ts";
import type { RouteResponse, RouteDeps, RouteRequest } from "../route.ts";
import { param } from "./parse.ts";

/** `GET …/models`. Interface §2, model list entry. */
export function listModels(request: RouteRequest, { operations }: RouteDeps): RouteResponse {
  return { status: 200, body: listAll(operations, param(request, "code")) };
}

/** `GET …/models/:id`: an id or any selector form, percent-encoded. Contract §4. */
export function getModel(request: RouteRequest, { operations }: RouteDeps): RouteResponse {
  return {
    status: 200,
    body: findModel(operations, param(request, "code"), param(request, "model")),
  };
}
