import createFindMyWay from "find-my-way";
import type { HTTPMethod } from "find-my-way";
import { HubError } from "../errors.ts";
import type { HttpMethod, Route } from "./route.ts";

export interface RouteMatch {
  route: Route;
  params: Readonly<Record<string, string | undefined>>;
}

export interface Router {
  /** HEAD finds the row of GET. */
  find(method: string, path: string): RouteMatch | undefined;
  /** The methods that the path takes, for `Allow`; empty when it does not exist. */
  methodsOf(path: string): string[];
}

const methods: readonly HttpMethod[] = ["GET", "POST", "PUT", "DELETE"];

/** Matches paths to rows. Trailing slashes are tolerated; parameters come percent-decoded. Contract §1. */
export function createRouter(routes: readonly Route[]): Router {
  const router = createFindMyWay({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: 1_024,
  });
  for (const route of routes) router.on(route.method, route.path, () => undefined, route);
  const find = (method: string, path: string): RouteMatch | undefined => {
    const found = router.find((method === "HEAD" ? "GET" : method) as HTTPMethod, path);
    return found === null ? undefined : { route: found.store as Route, params: found.params };
  };
  return {
    find,
    methodsOf(path) {
      const allowed = methods.filter((method) => find(method, path) !== undefined) as string[];
      if (allowed.length === 0) return [];
      return [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
    },
  };
}

/** The path of a request target, without its query. @throws HubError `bad_request` for broken percent-encoding */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  const path = query < 0 ? target : target.slice(0, query);
  if (!path.includes("%")) return path;
  try {
    decodeURIComponent(path);
    return path;
  } catch {
    throw new HubError("bad_request", "The URL has a broken percent-encoding.", {
      hint: "A % that stands for itself is written %25.",
    });
  }
}

/** What follows the first `?` of a request target; a broken percent-encoding in it stays as it is. */
export function queryOf(target: string): URLSearchParams {
  const mark = target.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
}
