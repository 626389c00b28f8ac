import { shellWord } from "../terminal/text.ts";

/**
 * The line that shares a model from another machine: with the hub's own program where it hands it out, so that the machine
 * needs Node and npm only, else with an installed one.
 */
export function joinLine(
  commandName: string,
  hubUrl: string,
  room: string,
  isHandedOut: boolean,
): string {
  const program = isHandedOut ? `npx -y ${shellWord(`${hubUrl}/roomhub.tgz`)}` : commandName;
  return `${program} join ${shellWord(`${hubUrl}/rooms/${room}`)}`;
}
