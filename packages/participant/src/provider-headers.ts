import { authHeaderProblem, forwardRequestHeaders } from "@roomhub/protocol";

const hopHeader = "x-roomhub-hop";
const maxHopLength = 512;

/**
 * The headers of a provider call: the forwarded request headers, the participant's auth headers from the hub, the hop
 * header against loops, and the local credentials. Contract §3 and §4.
 *
 * @param local - override all others; never sent to the hub
 */
export function providerHeaders(
  fromHub: Readonly<Record<string, string>>,
  local: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers = forwardRequestHeaders(fromHub);
  for (const [name, value] of Object.entries(fromHub)) {
    const lower = name.toLowerCase();
    if (lower === hopHeader) {
      if (/^[\x20-\x7e]+$/.test(value) && value.length <= maxHopLength) headers[lower] = value;
    } else if (authHeaderProblem(lower, value) === undefined) {
      headers[lower] = value;
    }
  }
  for (const [name, value] of Object.entries(local)) headers[name.toLowerCase()] = value;
  return headers;
}
