import type { HubUnreachableError } from "@roomhub/client";
import type { CliContext } from "../context.ts";
import { isThisMachine, portOf } from "./hub-address.ts";
import { portFlag } from "./hub-address.ts";

/** What to do when nobody answers at a hub's URL: it depends on where that is, and on what is wrong with it. */
export function stepToHub(
  { commandName }: CliContext,
  { hubUrl, message, hint }: HubUnreachableError,
): string {
  if (hint.startsWith("use ")) return hint;
  // The fetch standard's ports of other protocols: https://fetch.spec.whatwg.org/#port-blocking
  if (message.endsWith(": bad port")) {
    return `browsers and Node refuse to call that port; give the hub another: ${commandName} up --port 5050`;
  }
  const url = URL.parse(hubUrl);
  return url !== null && isThisMachine(url.hostname)
    ? `start one: ${commandName} up${portFlag(portOf(url))}; or name one elsewhere: --hub http://HOST:5050, or its invite URL`
    : `on another machine a hub must be open to the network: ${commandName} up --lan; to look for one: ${commandName} join`;
}
