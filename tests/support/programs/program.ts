import { type ChildProcess, spawn } from "node:child_process";
import { within } from "../waiting.ts";

/** A program that runs until it is stopped. */
export interface Program extends AsyncDisposable {
  /** everything it wrote so far, both streams */
  readonly output: string;
  /** Resolves when it has written this. */
  says(pattern: RegExp, timeoutMs?: number): Promise<void>;
  /** To its stdin, where that is a pipe. */
  type(text: string): void;
  /** Waits for its end. @returns its exit code, null when a signal killed it */
  ended(): Promise<number | null>;
  /** Sends the signal, and waits until it has exited. @returns its exit code, null when the signal killed it */
  stop(signal: "SIGINT" | "SIGTERM" | "SIGKILL"): Promise<number | null>;
}

export function startProgram(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
  stdin: "ignore" | "pipe" = "ignore",
): Program {
  const child = spawn(command, args, {
    stdio: [stdin, "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const name = `${command} ${args.join(" ")}`;
  const watchers = new Set<() => void>();
  let output = "";
  const exited = new Promise<number | null>((resolve) => child.on("close", resolve));
  const note = (text: string) => {
    output += text;
    for (const look of watchers) look();
  };
  child.on("error", (error) => note(error.message));
  child.stdout?.setEncoding("utf8").on("data", note);
  child.stderr?.setEncoding("utf8").on("data", note);

  async function says(pattern: RegExp, timeoutMs?: number): Promise<void> {
    const said = new Promise<void>((resolve) => {
      const look = () => {
        if (pattern.test(output)) resolve();
      };
      watchers.add(look);
      look();
    });
    const gone = exited.then((code) => {
      if (!pattern.test(output)) throw new Error(`it ended with ${code}`);
    });
    try {
      await within(Promise.race([said, gone]), `${name} to say ${pattern}`, timeoutMs);
    } catch (error) {
      throw new Error(`${name} wrote:\n${output}`, { cause: error });
    }
  }

  return {
    get output() {
      return output;
    },
    says,
    type: (text) => void child.stdin?.write(text),
    ended: () => within(exited, `the end of ${name}`),
    stop: (signal) => stop(child, signal, exited, name),
    async [Symbol.asyncDispose]() {
      await stop(child, "SIGKILL", exited, name);
    },
  };
}

function stop(
  child: ChildProcess,
  signal: NodeJS.Signals,
  exited: Promise<number | null>,
  name: string,
): Promise<number | null> {
  child.kill(signal);
  return within(exited, `the end of ${name}`);
}
