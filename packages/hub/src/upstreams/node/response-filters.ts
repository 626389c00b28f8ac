import {
  ResponseScrubber,
  type ResponseSecrets,
  responseSecretsOf,
  scrubHeaders,
} from "@roomhub/provider";
import type { Participant } from "../../domain/participant.ts";
import type {
  ResponseFilter,
  ResponseFilterFor,
} from "../../inference/forwarding/response-filter.ts";

type Headers = Readonly<Record<string, string>>;

/**
 * Keeps the `authHeaders` of this hub's participants out of what goes over links.
 *
 * @param headersOf - the headers that this hub adds for a participant; the same object as long as they are the same
 */
export function createResponseFilters(
  headersOf: (participant: Participant) => Headers,
): (participant: Participant) => ResponseFilterFor | undefined {
  const known = new WeakMap<Headers, ResponseSecrets>();
  return (participant) => {
    const headers = headersOf(participant);
    let secrets = known.get(headers);
    if (secrets === undefined) known.set(headers, (secrets = responseSecretsOf(headers)));
    const { inErrors, inResponses } = secrets;
    if (inErrors === undefined && inResponses === undefined) return undefined;
    return (status) => {
      const kept = status < 400 ? inResponses : inErrors;
      return kept === undefined ? undefined : filterOf(kept);
    };
  };
}

function filterOf(secrets: NonNullable<ResponseSecrets["inErrors"]>): ResponseFilter {
  const scrubber = new ResponseScrubber(secrets);
  return {
    headers: (headers) => scrubHeaders(headers, secrets),
    push: (chunk) => scrubber.push(chunk),
    end: () => scrubber.end(),
    breakOff: () => scrubber.breakOff(),
  };
}
