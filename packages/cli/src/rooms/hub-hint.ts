import type { HubUnreachableError } from "@roomhub/client";
import { withCommandName } from "../command-name.ts";
import type { CliContext } from "../context.ts";
import { isThisMachine, portFlag, portOf, usualHubUrl } from "./hub-address.ts";
import { shellWord } from "../terminal/text.ts";

const namesRoom =
  /\broomhub ((?:join|participants|models|leave|events|chat|env|doctor|route(?: --room)?|room show) )([2-9A-HJKMNP-Z]{6})(?![\w/])/g;
const listsRooms = /\broomhub room list\b(?! --hub)/g;

/**
 * A hub's next step, as it can be pasted here. A hub writes its rooms' codes alone, and a code alone is looked for at the
 * usual hub: of any other, the room's URL says which.
 *
 * @param hubUrl - the hub whose hint it is; undefined when no hub was asked
 */
export function hintHere(context: CliContext, hint: string, hubUrl: string | undefined): string {
  if (hubUrl === undefined || hubUrl === usualHubUrl) return withCommandName(context, hint);
  const named = hint
    .replaceAll(
      namesRoom,
      (_all, command: string, code: string) =>
        `roomhub ${command}${shellWord(`${hubUrl}/rooms/${code}`)}`,
    )
    .replaceAll(listsRooms, `roomhub room list --hub ${shellWord(hubUrl)}`);
  return withCommandName(context, named);
}

/** What to do when nobody answers at a hub's URL: it depends on where that is, and on what is wrong with it. */
export function unreachableHubHint(
  { commandName }: CliContext,
  { hubUrl, message, hint }: HubUnreachableError,
): string {
  if (hint.startsWith("write ")) return hint;
  // The fetch standard's ports of other protocols: https://fetch.spec.whatwg.org/#port-blocking
  if (message.endsWith("(bad port)")) {
    return `browsers and Node refuse to call that port; give the hub another: ${commandName} up --port 5050`;
  }
  const url = URL.parse(hubUrl);
  return url !== null && isThisMachine(url.hostname)
    ? `start one: ${commandName} up${portFlag(portOf(url))}; or name one elsewhere: --hub http://HOST:5050, or its invite URL`
    : `on another machine a hub must be open to the network: ${commandName} up --lan; to look for one: ${commandName} join`;
}
