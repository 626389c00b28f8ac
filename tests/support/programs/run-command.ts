import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { within } from "../waiting.ts";

export interface CommandResult {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end; it is killed when that takes too long. */
export async function runCommand(
  command: string,
  args: readonly string[],
  timeoutMs?: number,
): Promise<CommandResult> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  try {
    const [exitCode, stdout, stderr] = await within(
      Promise.all([exited, text(child.stdout), text(child.stderr)]),
      `${command} ${args[0]}`,
      timeoutMs,
    );
    return { exitCode, stdout, stderr };
  } finally {
    child.kill("SIGKILL");
  }
}
