import type { History } from "../history.ts";

/** Any token or key of a room, and the text of any request. */
const secret = /rh[pchk]_[\w-]{43}|tokenBytes/;

/** No secret and no text of a request is in an event, a list, a log or a file. Contract §1, §3. */
export function secretsAreKept({ watchers, hubs, listings, files }: History): string[] {
  const shown = [
    ...watchers.flatMap(({ events }) =>
      events.map(({ type, data }) => [`an event ${type}`, JSON.stringify(data)] as const),
    ),
    ...listings.map((list) => ["a list of participants", JSON.stringify(list ?? [])] as const),
    ...hubs.flatMap(({ machine, log }) => [[`the log of ${machine.name}`, log.join("")] as const]),
    ...files,
  ];
  return shown.flatMap(([where, text]) => {
    const [found] = secret.exec(text) ?? [];
    return found === undefined ? [] : [`${where} has ${found}`];
  });
}
