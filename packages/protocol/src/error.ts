import { z } from "zod";

/** Where a routed request failed. Interface §6, contract §5. */
export const FAILURE_STAGES = ["routing", "queue", "tunnel", "provider", "client", "hub"] as const;
export type FailureStage = (typeof FAILURE_STAGES)[number];

/**
 * What an SDK should do about an error. Contract §6.
 *
 * - `none`: no header; the status is enough
 * - `stop`: `x-should-retry: false`
 * - `later`: `retry-after`, in seconds
 */
type RetrySignal = "none" | "stop" | "later";

interface ErrorRow {
  status: number;
  retry: RetrySignal;
  retryAfterSeconds?: number;
  /** The stage of an `llm.error` with this code, unless the error names another. */
  stage?: FailureStage;
}

function defineErrors<Code extends string>(rows: Record<Code, ErrorRow>): Record<Code, ErrorRow> {
  return rows;
}

/** Every error of the hub: status, retry signal and stage by code. Contract §6. */
export const ERROR_STATUS = defineErrors({
  invalid_json: { status: 400, retry: "none" },
  invalid_form: { status: 400, retry: "none" },
  model_part_late: { status: 400, retry: "none" },
  missing_required_parameter: { status: 400, retry: "none" },
  invalid_type: { status: 400, retry: "none" },
  field_too_large: { status: 400, retry: "none" },
  invalid_id: { status: 400, retry: "none" },
  invalid_endpoint: { status: 400, retry: "none" },
  invalid_auth_header: { status: 400, retry: "none" },
  invalid_nickname: { status: 400, retry: "none" },
  bad_request: { status: 400, retry: "none" },
  unsupported_protocol: { status: 400, retry: "none", stage: "routing" },
  context_length_exceeded: { status: 400, retry: "none", stage: "provider" },
  capability_missing: { status: 400, retry: "none", stage: "routing" },
  routing_loop: { status: 400, retry: "none", stage: "routing" },
  previous_response_not_found: { status: 400, retry: "none", stage: "routing" },
  alias_loop: { status: 400, retry: "none" },
  websocket_connection_limit_reached: { status: 400, retry: "none" },

  invalid_password: { status: 401, retry: "none" },
  invalid_api_key: { status: 401, retry: "stop" },
  key_revoked: { status: 401, retry: "stop" },
  key_expired: { status: 401, retry: "stop" },
  not_allowed: { status: 403, retry: "stop" },
  participant_token_required: { status: 403, retry: "none" },
  participant_token_invalid: { status: 403, retry: "none" },
  host_token_required: { status: 403, retry: "none" },
  operator_required: { status: 403, retry: "none" },
  participant_banned: { status: 403, retry: "none" },
  client_blocked: { status: 403, retry: "stop", stage: "routing" },
  origin_not_allowed: { status: 403, retry: "none" },

  room_not_found: { status: 404, retry: "none" },
  participant_not_found: { status: 404, retry: "none" },
  response_not_found: { status: 404, retry: "none" },
  alias_not_found: { status: 404, retry: "none" },
  key_not_found: { status: 404, retry: "none" },
  model_not_found: { status: 404, retry: "none", stage: "routing" },
  not_found: { status: 404, retry: "none" },
  method_not_allowed: { status: 405, retry: "none" },
  request_read_timeout: { status: 408, retry: "none" },
  participant_id_taken: { status: 409, retry: "none" },
  participant_id_conflicts: { status: 409, retry: "none" },
  alias_limit_reached: { status: 409, retry: "none" },
  key_name_taken: { status: 409, retry: "none" },
  too_many_keys: { status: 409, retry: "none" },
  request_too_large: { status: 413, retry: "none" },
  uri_too_long: { status: 414, retry: "none" },
  unsupported_content_encoding: { status: 415, retry: "none" },
  session_elsewhere: { status: 421, retry: "none" },
  home_elsewhere: { status: 421, retry: "none" },
  upgrade_required: { status: 426, retry: "none" },
  tls_required: { status: 426, retry: "none" },
  key_limit_reached: { status: 429, retry: "later", retryAfterSeconds: 60 },
  too_many_attempts: { status: 429, retry: "later", retryAfterSeconds: 2 },
  rate_limit_exceeded: { status: 429, retry: "later", retryAfterSeconds: 6 },
  tunnel_flapping: { status: 429, retry: "later", retryAfterSeconds: 10 },
  budget_exhausted: { status: 429, retry: "later", retryAfterSeconds: 60, stage: "routing" },
  batch_timeout: { status: 429, retry: "later", retryAfterSeconds: 60, stage: "queue" },
  queue_full: { status: 429, retry: "later", retryAfterSeconds: 5, stage: "queue" },
  headers_too_large: { status: 431, retry: "none" },

  client_disconnected: { status: 499, retry: "none", stage: "client" },
  client_stalled: { status: 499, retry: "none", stage: "client" },

  internal_error: { status: 500, retry: "none", stage: "hub" },
  tunnel_lost: { status: 502, retry: "none", stage: "tunnel" },
  provider_unreachable: { status: 502, retry: "none", stage: "provider" },
  provider_auth_failed: { status: 502, retry: "stop", stage: "provider" },
  provider_error: { status: 502, retry: "none", stage: "provider" },
  provider_invalid_response: { status: 502, retry: "none", stage: "provider" },
  provider_disconnected: { status: 502, retry: "none", stage: "provider" },
  response_too_large: { status: 502, retry: "stop", stage: "provider" },
  participant_offline: { status: 503, retry: "later", retryAfterSeconds: 5, stage: "routing" },
  batch_refused: { status: 503, retry: "later", retryAfterSeconds: 60, stage: "routing" },
  queue_timeout: { status: 503, retry: "later", retryAfterSeconds: 5, stage: "queue" },
  room_limit_reached: { status: 503, retry: "stop" },
  participant_limit_reached: { status: 503, retry: "stop" },
  too_many_subscribers: { status: 503, retry: "stop" },
  hub_draining: { status: 503, retry: "later", retryAfterSeconds: 2, stage: "hub" },
  hub_overloaded: { status: 503, retry: "later", retryAfterSeconds: 2, stage: "hub" },
  handout_unavailable: { status: 503, retry: "later", retryAfterSeconds: 5 },
  hub_shutting_down: { status: 503, retry: "later", retryAfterSeconds: 2, stage: "hub" },
  cluster_unavailable: { status: 503, retry: "later", retryAfterSeconds: 5, stage: "hub" },
  peer_unavailable: { status: 503, retry: "later", retryAfterSeconds: 5, stage: "tunnel" },
  provider_timeout: { status: 504, retry: "stop", stage: "provider" },
  stream_idle_timeout: { status: 504, retry: "none", stage: "provider" },
  request_timeout: { status: 504, retry: "stop", stage: "provider" },
});

/** A code of the hub; a provider's own code passes through and is any string. */
export type ErrorCode = keyof typeof ERROR_STATUS;

export type ErrorType =
  | "invalid_request_error"
  | "permission_error"
  | "rate_limit_error"
  | "server_error";

/** Contract §6: the `type` follows from the status. */
export function errorTypeOf(status: number): ErrorType {
  if (status === 401 || status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** A participant that could not serve a refused request, and why. */
export const Refusal = z.object({ id: z.string(), model: z.string(), reason: z.string() });
export type Refusal = z.infer<typeof Refusal>;

/**
 * The body of every error on both path families. Contract §6: OpenAI's shape; `param` and `code` are `""` when unset,
 * because some clients expect strings.
 */
export const ErrorBody = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string(),
    code: z.string(),
    stage: z.enum(FAILURE_STAGES).optional(),
    hint: z.string().optional(),
    participants: z.array(Refusal).optional(),
  }),
});
export type ErrorBody = z.infer<typeof ErrorBody>;
