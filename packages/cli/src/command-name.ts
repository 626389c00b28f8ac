import type { CliContext } from "./context.ts";

const calls =
  /(?<!npx )\broomhub (?=\[|--|(?:up|serve|room|join|participants|models|leave|events|chat|health|route|env|doctor|config|service|completion|help)\b)/g;

/**
 * Texts of hubs, the SDK and the help contain commands of an installed `roomhub`; in a checkout they get the prefix that
 * makes them run there.
 */
export function withCommandName({ commandName }: CliContext, text: string): string {
  return text.replaceAll(calls, `${commandName} `);
}
