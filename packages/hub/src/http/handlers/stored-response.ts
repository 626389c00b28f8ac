import { forwardRequestHeaders } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import { StoredResponseRequest } from "../../inference/request/inference-request.ts";
import { admit, begin } from "../../inference/begin.ts";
import { claimsOf } from "../../inference/sender/senders.ts";
import { SocketClientResponse } from "../relay.ts";
import type { RelayRoute } from "../route.ts";
import { hopsOf, type InferenceDeps, type RelayedRequest } from "./inference.ts";

/** The parameters that clients send: paging, `stream`, `starting_after`, `include[]`. An agent takes no other characters. */
const safeQuery = /^[A-Za-z0-9_=&%.,[\]-]{0,512}$/;

/**
 * `GET|DELETE …/responses/:id`, `POST …/cancel`, `GET …/input_items`: sent to the participant that made the response.
 * No generation, so no llm events.
 *
 * @throws HubError `response_not_found`, `room_not_found`, `hub_overloaded`
 */
export function serveStoredResponse(
  { request, response, requestId, code, access, source, delivery, ageMs, onMoved }: RelayedRequest,
  { method, suffix }: Extract<RelayRoute, { kind: "stored-response" }>,
  responseId: string,
  { inference, flushing, turnEnd }: InferenceDeps,
): void {
  const room = admit(inference, code, undefined);
  const { nowMs, storedResponses } = inference.dispatch;
  const maker = storedResponses.holderOf(room, access?.own(responseId) ?? responseId);
  if (maker === undefined) throw notFound(responseId);
  const query = request.url?.split("?", 2)[1] ?? "";
  if (!safeQuery.test(query)) {
    throw new HubError("bad_request", "The query contains characters that are not forwarded.");
  }
  const client = new SocketClientResponse(request, response, {
    ...{ requestId, errorShape: "openai", delivery, flushing, turnEnd },
  });
  const dispatch = begin(inference, {
    ...{ requestId, room, access, client, onMoved },
    request: new StoredResponseRequest({
      method,
      path: `/responses/${encodeURIComponent(responseId)}${suffix}${query === "" ? "" : `?${query}`}`,
      isStream: /(?:^|&)stream=true(?:&|$)/.test(query),
      maker,
      headers: forwardRequestHeaders(request.headers),
    }),
    hops: hopsOf(request),
    sender: inference.senders.senderOf(source, claimsOf(request.headers), undefined, access?.key),
    startedMs: nowMs() - ageMs,
    onSettled: () => undefined,
  });
  client.listen(dispatch);
}

function notFound(responseId: string): HubError {
  const shown = JSON.stringify(responseId.slice(0, 100));
  return new HubError("response_not_found", `The response ${shown} is not known in this room.`, {
    hint: "A hub remembers the responses made through it, until it restarts or their participant leaves.",
  });
}
