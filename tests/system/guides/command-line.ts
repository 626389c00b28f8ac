import { createProgram } from "../../../packages/cli/src/program.ts";
import { makeWorld } from "../../../packages/cli/src/test-context.fixture.ts";

const program = await createProgram(makeWorld().context);

/** What of a command line `roomhub` does not know. Nothing is run. */
export function misunderstood(words: readonly string[]): string[] {
  let command = program;
  let rest = [...words];
  while (command.commands.length > 0) {
    const [name = ""] = rest;
    const child = command.commands.find((one) => [one.name(), ...one.aliases()].includes(name));
    if (child === undefined) return [name];
    command = child;
    rest = rest.slice(1);
  }
  const { operands, unknown } = command.parseOptions(rest);
  const isTooFew =
    operands.length < command.registeredArguments.filter((one) => one.required).length;
  const isTooMany =
    command.registeredArguments.at(-1)?.variadic !== true &&
    operands.length > command.registeredArguments.length;
  return isTooFew || isTooMany ? [...unknown, `${operands.length} arguments`] : unknown;
}
