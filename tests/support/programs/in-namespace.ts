import type { Namespace } from "./network-namespaces.ts";
import { type Program, startProgram } from "./program.ts";
import { runCommand } from "./run-command.ts";

/**
 * Starts a program in a namespace, ended with the stack.
 *
 * @param isBare - the variables are all that there are
 */
export function startIn(
  stack: AsyncDisposableStack,
  namespace: Namespace,
  variables: Record<string, string>,
  command: readonly string[],
  isBare = false,
): Program {
  const [first = "", ...rest] = namespace.prefix;
  const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const environment = ["env", ...(isBare ? ["-i"] : []), ...assignments];
  const program = stack.use(startProgram(first, [...rest, ...environment, ...command]));
  // First, since what npm started would keep the program's output open.
  stack.defer(() => namespace.killAll());
  return program;
}

/** What `curl` in a namespace receives. */
export async function curlIn({ prefix }: Namespace, ...args: string[]): Promise<string> {
  const [first = "", ...rest] = prefix;
  return (await runCommand(first, [...rest, "curl", "-sS", ...args])).stdout;
}
