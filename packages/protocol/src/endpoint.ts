import { LIMITS } from "./limits.ts";

/** Where calls to an endpoint go, or why the text is not a valid endpoint. */
export type EndpointCheck =
  | {
      ok: true;
      /** path without a trailing slash, then the query, if any */ baseUrl: string;
      origin: string;
    }
  | { ok: false; reason: string };

/** Names of query parameters whose values are taken for secrets. */
const secretName = /key|token|sig|secret|code/i;
const operationSuffix = /\/(?:chat\/completions|responses|models)$/;

/**
 * Endpoint → base URL. Contract §3: no path (or `/`) means `/v1`; any other path is kept; a trailing slash and a
 * trailing operation path are removed; a query is kept. Userinfo, fragment and names of secrets in the query are refused,
 * because listings show the endpoint.
 */
export function checkEndpoint(
  endpoint: string,
  maxLength: number = LIMITS.endpointLength.default,
): EndpointCheck {
  if (endpoint.length > maxLength) {
    return { ok: false, reason: `is longer than ${maxLength} characters` };
  }
  // URL() silently drops tabs, newlines and invisible characters, and reads backslashes as slashes.
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(endpoint)) {
    return {
      ok: false,
      reason: "contains a space, a backslash, or a control or invisible character",
    };
  }
  let url: URL;
  try {
    url = new URL(endpoint);
  } catch {
    return { ok: false, reason: "is not a URL; write it like http://127.0.0.1:11434/v1" };
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { ok: false, reason: `must begin with http:// or https://, not ${url.protocol}` };
  }
  if (!/^https?:\/\//i.test(endpoint))
    return { ok: false, reason: "must begin with http:// or https://" };
  // URL() drops an empty user name, but listings would still show the "@".
  if (url.username !== "" || url.password !== "" || /^[^/]+\/\/[^/]*@/.test(endpoint)) {
    return { ok: false, reason: "must not contain a user name or password; use authHeaders" };
  }
  if (endpoint.includes("#")) return { ok: false, reason: "must not contain a fragment" };
  if ([...url.searchParams.keys()].some((name) => secretName.test(name))) {
    return { ok: false, reason: "must not contain a secret in its query; use authHeaders" };
  }
  let path = url.pathname.replace(/\/+$/, "").replace(operationSuffix, "").replace(/\/+$/, "");
  if (path === "" && !operationSuffix.test(url.pathname.replace(/\/+$/, ""))) path = "/v1";
  return { ok: true, baseUrl: url.origin + path + url.search, origin: url.origin };
}

/** Where a call of `path` goes; the query of the base URL comes first, then that of `path`. */
export function urlBelow(baseUrl: string, path: string): string {
  const [place, query] = splitAtQuery(baseUrl);
  if (query === "") return baseUrl + path;
  const [ownPath, ownQuery] = splitAtQuery(path);
  return place + ownPath + query + ownQuery.replace("?", "&");
}

/** The base URL without `/v1`, where servers have their own operations. */
export function serverRoot(baseUrl: string): string {
  const [place, query] = splitAtQuery(baseUrl);
  return place.replace(/\/v1$/, "") + query;
}

function splitAtQuery(text: string): [place: string, query: string] {
  const at = text.indexOf("?");
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}
