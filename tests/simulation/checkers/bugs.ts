import type { History } from "../history.ts";

/** No error of the product's own is left to the process, and no hub logs one. */
export function nothingWasThrown({ bugs, hubs }: History): string[] {
  const logged = hubs.flatMap(({ machine, log }) =>
    log.filter((line) => /\bbug\b/i.test(line)).map((line) => `${machine.name}: ${line.trim()}`),
  );
  return [...bugs, ...logged];
}
