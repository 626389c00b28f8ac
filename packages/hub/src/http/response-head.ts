import type { ErrorShape } from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import { corsHeaders } from "./cors.ts";

const corsPairs = Object.entries(corsHeaders).flat();

/** Adds the headers that every response has. Contract §4. */
export function setCommonHeaders(
  response: ServerResponse,
  requestId: string,
  errorShape: ErrorShape,
): void {
  for (const [name, value] of Object.entries(corsHeaders)) response.setHeader(name, value);
  response.setHeader("x-request-id", requestId);
  // Anthropic's SDKs read the id under this name.
  if (errorShape === "anthropic") response.setHeader("request-id", requestId);
}

/**
 * The same and more in one go, for the path where it counts: `node:http` takes a flat list as it is, and merges a map
 * with headers set before at a multiple of the cost.
 *
 * @param headers - lower-case names; `x-request-id` among them
 */
export function headPairs(
  requestId: string,
  errorShape: ErrorShape,
  headers: Readonly<Record<string, string>>,
): string[] {
  const pairs = [...corsPairs];
  if (errorShape === "anthropic") pairs.push("request-id", requestId);
  for (const name in headers) pairs.push(name, headers[name] ?? "");
  return pairs;
}
