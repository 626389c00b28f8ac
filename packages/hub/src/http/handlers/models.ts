import * as participants from "../../operations/participants.ts";
import type { RouteResponse, RouteDeps, RouteRequest } from "../route.ts";
import { param } from "./parse.ts";

/** `GET …/models`. Interface §2, model list entry; for Anthropic's clients contract §4. */
export function listModels(request: RouteRequest, { operations }: RouteDeps): RouteResponse {
  const code = param(request, "code");
  const body =
    request.shape === "anthropic"
      ? participants.listAnthropicModels(operations, code)
      : participants.listModels(operations, code);
  return { status: 200, body };
}

/** `GET …/models/:id`: an id or any selector form, percent-encoded. Contract §4. */
export function getModel(request: RouteRequest, { operations }: RouteDeps): RouteResponse {
  const code = param(request, "code");
  const name = param(request, "model");
  const body =
    request.shape === "anthropic"
      ? participants.getAnthropicModel(operations, code, name)
      : participants.getModel(operations, code, name);
  return { status: 200, body };
}
