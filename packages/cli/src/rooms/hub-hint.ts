import { inOurWords } from "../command-name.ts";
import type { CliContext } from "../context.ts";
import { usualHubUrl } from "./hub-address.ts";
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
  if (hubUrl === undefined || hubUrl === usualHubUrl) return inOurWords(context, hint);
  const named = hint
    .replaceAll(
      namesRoom,
      (_all, command: string, code: string) =>
        `roomhub ${command}${shellWord(`${hubUrl}/rooms/${code}`)}`,
    )
    .replaceAll(listsRooms, `roomhub room list --hub ${shellWord(hubUrl)}`);
  return inOurWords(context, named);
}
