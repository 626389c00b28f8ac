import { ClientIdentity, forwardResponseHeaders, rememberLast } from "@roomhub/protocol";
import type { ResponseHead } from "@roomhub/provider";
import type { IncomingRequest } from "@roomhub/tunnel";
import { isAllowedRequest } from "./allowed-path.ts";
import { providerHeaders } from "./provider-headers.ts";

type Head = IncomingRequest["head"];

/** Checks and maps the heads of requests and responses. Results are reused while heads repeat. */
export interface RequestHeads {
  isAllowed(head: Head): boolean;
  /** Who sends the request; undefined from a hub that does not report it. */
  clientOf(head: Head): ClientIdentity | undefined;
  toProvider(fromHub: Head["headers"]): Record<string, string>;
  toHub(fromProvider: ResponseHead["headers"]): Record<string, string>;
}

/** @param localHeaders - credentials that must not reach the hub, lower-case names */
export function createRequestHeads(localHeaders: Readonly<Record<string, string>>): RequestHeads {
  return {
    isAllowed: rememberLast(({ method, path }) => isAllowedRequest(method, path)),
    clientOf: rememberLast(({ client }) => ClientIdentity.safeParse(client).data),
    toProvider: rememberLast((fromHub) => providerHeaders(fromHub, localHeaders)),
    toHub: rememberLast(forwardResponseHeaders),
  };
}
