import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a program to its end. @returns what it wrote to stdout. @throws Error with all it wrote when it fails */
export async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const shell = process.platform === "win32";
  try {
    const { stdout } = await execute(command, args, {
      cwd,
      shell,
      timeout: 300_000,
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr, message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed\n${stdout}${stderr ?? message}`, {
      cause: error,
    });
  }
}
