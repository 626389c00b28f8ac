import type { ErrorBody, ErrorCode } from "@roomhub/protocol";
import { ERROR_STATUS } from "@roomhub/protocol";
import { HubError, asHubError } from "../errors.ts";
import { servedBy } from "../operations/cluster/cluster-changes.ts";
import type { ClusterMembership, OperationContext, Peer } from "../operations/context.ts";
import { errorBody } from "./error-response.ts";
import type {
  JsonHandler,
  JsonRoute,
  Route,
  RouteDeps,
  RouteRequest,
  RouteResponse,
} from "./route.ts";

/** Takes a management request to the hub that owns its participant. @throws HubError `peer_unavailable` */
export type AskOwner = (hubId: string, question: unknown) => Promise<RouteResponse>;

/** A management request on its way to another hub: as that hub's front would have read it. */
interface RelayedRequest {
  method: string;
  /** of the row */
  path: string;
  params: Record<string, string>;
  query: string;
  body: unknown;
  /** as judged by the hub that the request came to */
  peer: Omit<Peer, "hasLeft">;
  onlyIfNew: boolean;
  shape: RouteRequest["shape"];
  origin: string;
}

interface RelayedError extends ErrorBody {
  retryAfterMs?: number;
}

/** In a cluster: a request about a participant that another hub owns is served by that hub. Contract §8. */
export class OwnerRelay {
  readonly #operations: OperationContext;
  readonly #cluster: ClusterMembership;
  readonly #ask: AskOwner;

  constructor(operations: OperationContext, cluster: ClusterMembership, ask: AskOwner) {
    this.#operations = operations;
    this.#cluster = cluster;
    this.#ask = ask;
  }

  /**
   * The response of the hub that owns the participant; undefined when the request is to be served here.
   *
   * @throws HubError what that hub says, `peer_unavailable`, `cluster_unavailable`
   */
  async relay(route: JsonRoute, request: RouteRequest): Promise<RouteResponse | undefined> {
    if (route.concerns === undefined) return undefined;
    const isJoin = route.concerns === "join";
    const code = request.params["code"] ?? "";
    const id = request.params["id"] ?? (request.body as { id?: unknown } | null)?.id;
    const room = this.#operations.registry.findRoom(code);
    if (room === undefined || typeof id !== "string") return undefined;
    if (!room.participants.has(id) && !isJoin) {
      await this.#cluster.catchUp(room.code, id);
    }
    const participant = room.participants.get(id);
    if (participant === undefined) return undefined;
    const owner = servedBy(this.#operations, participant, request.peer, isJoin);
    if (owner === undefined) return undefined;
    const response = await this.#ask(owner.hubId, questionOf(route, request));
    if (response.status >= 400) throw errorOf(response.body as RelayedError);
    return response;
  }
}

function questionOf(
  { method, path }: JsonRoute,
  { params, query, body, peer, onlyIfNew, shape, origin }: RouteRequest,
): RelayedRequest {
  const { hasLeft: _live, ...judged } = peer;
  const named = Object.entries(params).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return {
    ...{ method, path, body, onlyIfNew, shape, origin },
    params: Object.fromEntries(named),
    query: query.toString(),
    peer: judged,
  };
}

/** Serves what another hub relays. Never forwarded again. Never rejects for an error of the request. */
export async function serveRelayed(
  routes: readonly Route[],
  deps: RouteDeps,
  question: unknown,
): Promise<RouteResponse> {
  const { method, path, query, peer, ...request } = question as RelayedRequest;
  const handle = handlerOf(routes, method, path);
  if (handle === undefined) {
    const message = `${method} ${path} is not relayed by this version of the hub.`;
    return errorResponse(new HubError("not_found", message));
  }
  try {
    return await handle(
      { ...request, query: new URLSearchParams(query), peer: { ...peer, hasLeft: () => false } },
      deps,
    );
  } catch (thrown) {
    if (!(thrown instanceof HubError)) throw thrown;
    return errorResponse(asHubError(thrown));
  }
}

function handlerOf(
  routes: readonly Route[],
  method: string,
  path: string,
): JsonHandler | undefined {
  for (const route of routes) {
    if (route.kind !== "json" || route.concerns === undefined) continue;
    if (route.method === method && route.path === path) return route.handle;
  }
  return undefined;
}

function errorResponse(error: HubError): RouteResponse {
  const body: RelayedError = errorBody(error);
  if (error.retryAfterMs !== undefined) body.retryAfterMs = error.retryAfterMs;
  return { status: error.status, body };
}

/** The same error here, so that this hub renders it for its client. */
function errorOf({ error, retryAfterMs }: RelayedError): HubError {
  const code = error.code in ERROR_STATUS ? (error.code as ErrorCode) : "internal_error";
  const { message, param, hint, stage, participants } = error;
  return new HubError(code, message, { param, hint, stage, participants, retryAfterMs });
}
