import { LIMITS } from "./limits.ts";

/** Where calls to an endpoint go, or why the text is not a valid endpoint. */
export type EndpointCheck =
  | { ok: true; /** without a trailing slash */ baseUrl: string; origin: string }
  | { ok: false; reason: string };

const operationSuffix = /\/(?:chat\/completions|responses|models)$/;

/**
 * Endpoint → base URL. Contract §3: no path (or `/`) means `/v1`; any other path is kept; a trailing slash and a
 * trailing operation path are removed. Userinfo, query and fragment are refused, because listings show the endpoint.
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
  if (endpoint.includes("?"))
    return { ok: false, reason: "must not contain a query; use authHeaders for keys" };
  if (endpoint.includes("#")) return { ok: false, reason: "must not contain a fragment" };
  let path = url.pathname.replace(/\/+$/, "").replace(operationSuffix, "").replace(/\/+$/, "");
  if (path === "" && !operationSuffix.test(url.pathname.replace(/\/+$/, ""))) path = "/v1";
  return { ok: true, baseUrl: url.origin + path, origin: url.origin };
}
