import { HubError } from "../errors.ts";

type TimeoutCode = "request_timeout" | "provider_timeout" | "stream_idle_timeout" | "queue_timeout";

/**
 * A deadline that passed, as an error that names the limit to turn.
 *
 * @param knob - the limit's environment variable, without `ROOMHUB_`
 */
export function timeout(code: TimeoutCode, what: string, limitMs: number, knob: string): HubError {
  return new HubError(
    code,
    `${what} more than ${Math.round(limitMs / 100) / 10} s (limit ROOMHUB_${knob}).`,
    { hint: code === "queue_timeout" ? whoIsBusy : whereTimeGoes },
  );
}

const whoIsBusy = "See who is busy: roomhub route CODE --model MODEL";
const whereTimeGoes =
  "The model may be loading: try again; roomhub doctor tells where the time goes.";
