import { parseBody } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { RouteRequest, RouteResponse } from "../route.ts";

/** Anything with a zod schema's shape, so that handlers need no zod of their own. */
type Schema = Parameters<typeof parseBody>[0];
type Output<T extends Schema> = Extract<ReturnType<typeof parseBody<T>>, { ok: true }>["value"];

/** @throws HubError with the code, field and sentence of contract §6 */
export function parse<T extends Schema>(schema: T, body: unknown): Output<T> {
  const result = parseBody(schema, body);
  if (result.ok) return result.value;
  throw new HubError(result.code, result.message, { param: result.param });
}

/** A parameter the route's path names. */
export function param(request: RouteRequest, name: string): string {
  const value = request.params[name];
  if (value === undefined) throw new Error(`the route has no parameter ${name}`);
  return value;
}

export function ok(body: unknown): RouteResponse {
  return { status: 200, body };
}
