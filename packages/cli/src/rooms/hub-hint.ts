import { isLoopbackHost } from "@roomhub/protocol";
import type { HubUnreachableError, Invite } from "@roomhub/client";
import { withCommandName } from "../command-list.ts";
import type { CliContext } from "../context.ts";
import { portFlag, portOf, defaultHubUrl } from "./hub-address.ts";
import { safe, shellWord } from "../terminal/text.ts";

const namesRoom =
  /\broomhub ((?:join|participants|models|leave|events|chat|alias|env|doctor|route(?: --room)?|room show) )([2-9A-HJKMNP-Z]{6})(?![\w/])/g;
const listsRooms = /\broomhub room list\b(?! --hub)/g;

/** Of a program, not of a command line. */
const sendsKey = "send it as the API key";

/**
 * Makes a hub's hint pasteable here. A hub's hints name rooms by code alone, and a bare code means the default hub, so for
 * any other hub the code becomes the room's URL.
 *
 * @param hubUrl - the hub that sent the hint; undefined when no hub was contacted
 */
export function hintHere(context: CliContext, hint: string, hubUrl: string | undefined): string {
  const typed = hint.replace(sendsKey, "pass it with --key-file FILE or ROOMHUB_KEY");
  if (hubUrl === undefined || hubUrl === defaultHubUrl) return withCommandName(context, typed);
  const named = typed
    .replaceAll(
      namesRoom,
      (_all, command: string, code: string) =>
        `roomhub ${command}${shellWord(`${hubUrl}/rooms/${code}`)}`,
    )
    .replaceAll(listsRooms, `roomhub room list --hub ${shellWord(hubUrl)}`);
  return withCommandName(context, named);
}

/** Prints why requests for a model would be refused now. A warning only, since a participant with it may join later. */
export async function warnUnlessRouted(
  context: CliContext,
  { hubUrl, room }: Invite,
  model: string,
): Promise<void> {
  const { refusal } = await context.createClient(hubUrl).explainRoute(room, { model });
  if (refusal === undefined) return;
  const hint = hintHere(context, safe(refusal.hint), hubUrl);
  context.stderr.write(`! ${safe(refusal.message)}\n→ ${hint}\n`);
}

/** The next step when a hub URL cannot be reached. */
export function unreachableHubHint(
  { commandName }: CliContext,
  { hubUrl, message, hint, isTlsProblem }: HubUnreachableError,
): string {
  if (isTlsProblem) return hint;
  // The fetch standard's ports of other protocols: https://fetch.spec.whatwg.org/#port-blocking
  if (message.endsWith(": bad port")) {
    return `browsers and Node block that port; run the hub on another one: ${commandName} up --port 5050`;
  }
  const url = URL.parse(hubUrl);
  return url !== null && isLoopbackHost(url.hostname)
    ? `start one: ${commandName} up${portFlag(portOf(url))}; or name a remote hub: --hub http://HOST:5050, or its invite URL`
    : `on that machine, start the hub with --lan; to search for hubs: ${commandName} join`;
}
