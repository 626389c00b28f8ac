import type { CliContext } from "./context.ts";

const calls =
  /(?<!npx )\broomhub (?=\[|--|(?:up|serve|room|join|participants|models|leave|events|chat|health|route|env|doctor|config|help)\b)/g;

/**
 * Hubs, the SDK and the help write commands as an installed `roomhub` takes them; in a checkout they get the words in front
 * that make them run there.
 */
export function withCommandName({ commandName }: CliContext, text: string): string {
  return text.replaceAll(calls, `${commandName} `);
}
