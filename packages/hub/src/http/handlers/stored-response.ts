import { forwardRequestHeaders } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HubError } from "../../errors.ts";
import type { InferenceCall } from "../../inference/inference-call.ts";
import {
  StoredResponseRequest,
  type StoredResponseOptions,
} from "../../inference/request/inference-request.ts";
import { admit, begin } from "../../inference/begin.ts";
import { claimsOf, type Source } from "../../inference/sender/senders.ts";
import { SocketClientResponse } from "../relay.ts";
import { hopsOf, type InferenceDeps, type InferenceInput } from "./inference.ts";

/** The methods that a stored response takes. Contract §4. */
export type StoredResponseMethod = "GET" | "DELETE" | "POST";

interface StoredResponseInput extends Pick<
  InferenceInput,
  "access" | "delivery" | "ageMs" | "onMoved"
> {
  requestId: string;
  code: string;
  responseId: string;
  method: StoredResponseMethod;
  /** behind the id: `/cancel`, `/input_items`, or nothing */
  suffix: string;
  source: Source;
}

/** The parameters that clients send: paging, `stream`, `starting_after`, `include[]`. An agent takes no other characters. */
const safeQuery = /^[A-Za-z0-9_=&%.,[\]-]{0,512}$/;

/**
 * `GET|DELETE …/responses/:id`, `POST …/cancel`, `GET …/input_items`: sent to the participant that made the response.
 * No generation, so no llm events.
 *
 * @throws HubError `response_not_found`, `room_not_found`, `hub_overloaded`
 */
export function serveStoredResponse(
  request: IncomingMessage,
  response: ServerResponse,
  input: StoredResponseInput,
  deps: InferenceDeps,
): void {
  const room = admit(deps.inference, input.code, undefined);
  const { storedResponses } = deps.inference.dispatch;
  const maker = storedResponses.holderOf(
    room,
    input.access?.own(input.responseId) ?? input.responseId,
  );
  if (maker === undefined) throw notFound(input.responseId);
  serveFromMaker(request, response, { ...input, room, maker }, deps);
}

function serveFromMaker(
  request: IncomingMessage,
  response: ServerResponse,
  input: StoredResponseInput & Pick<InferenceCall, "room"> & Pick<StoredResponseOptions, "maker">,
  { inference, flushing, turnEnd }: InferenceDeps,
): void {
  const { room, maker } = input;
  const query = request.url?.split("?", 2)[1] ?? "";
  if (!safeQuery.test(query)) {
    throw new HubError("bad_request", "The query contains characters that are not forwarded.");
  }
  const startedMs = inference.dispatch.nowMs() - input.ageMs;
  const client = new SocketClientResponse(request, response, {
    ...{ requestId: input.requestId, errorShape: "openai", delivery: input.delivery },
    ...{ flushing, turnEnd },
  });
  const dispatch = begin(inference, {
    requestId: input.requestId,
    room,
    request: new StoredResponseRequest({
      method: input.method,
      path: `/responses/${encodeURIComponent(input.responseId)}${input.suffix}${query === "" ? "" : `?${query}`}`,
      isStream: /(?:^|&)stream=true(?:&|$)/.test(query),
      maker,
      headers: forwardRequestHeaders(request.headers),
    }),
    hops: hopsOf(request),
    access: input.access,
    sender: inference.senders.senderOf(
      input.source,
      claimsOf(request.headers),
      undefined,
      input.access?.key,
    ),
    ...{ startedMs, client },
    onSettled: () => undefined,
    onMoved: input.onMoved,
  });
  client.listen(dispatch);
}

function notFound(responseId: string): HubError {
  const shown = JSON.stringify(responseId.slice(0, 100));
  return new HubError("response_not_found", `The response ${shown} is not known in this room.`, {
    hint: "A hub remembers the responses made through it, until it restarts or their participant leaves.",
  });
}
