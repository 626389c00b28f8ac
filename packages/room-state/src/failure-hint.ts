import type { ErrorCode } from "@roomhub/protocol";

const fewer = "join another participant, or send fewer requests at once";
const runs = "check that the participant's model server is running";
const log = "read the log of the participant's model server";
const load = "check the load of the participant's model server";
const soon = "retry in a few seconds";

const hints: Partial<Record<ErrorCode, string>> = {
  unsupported_protocol: "use another path, or join a participant that supports this one",
  previous_response_not_found: "send the whole conversation, without previous_response_id",
  model_not_found: "list the models: roomhub models CODE",
  participant_not_found: "list the participants: roomhub participants CODE",
  budget_exhausted: "wait until the budget is renewed, or join another participant",
  queue_full: fewer,
  queue_timeout: fewer,
  client_stalled: "check the client's connection to the hub",
  internal_error: "read the hub's log",
  tunnel_lost: "check the connection between participant and hub",
  provider_unreachable: runs,
  participant_offline: "check that the participant is running: roomhub participants CODE",
  provider_auth_failed: "check the participant's credentials for its model server",
  provider_error: log,
  provider_invalid_response: log,
  provider_disconnected: log,
  response_too_large: "ask for fewer tokens",
  provider_timeout: load,
  stream_idle_timeout: load,
  request_timeout: load,
  hub_draining: soon,
  hub_overloaded: soon,
  hub_shutting_down: soon,
  cluster_unavailable: soon,
  peer_unavailable: soon,
};

/**
 * The next step after a failure, as a short sentence part; undefined for a code that has none, such as a provider's own.
 *
 * @param roomCode - for commands that name the room
 */
export function failureHint(code: string, roomCode: string): string | undefined {
  return Object.hasOwn(hints, code)
    ? hints[code as ErrorCode]?.replace("CODE", roomCode)
    : undefined;
}
