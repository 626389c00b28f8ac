import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";

const looked = [
  "openai",
  "anthropic",
  "http",
  "langchain_openai",
  "llm",
  "requests",
  "websockets",
] as const;

/** Looked for at once: it takes long to start. */
const found = spawnSync("python3", [
  "-c",
  `from importlib.util import find_spec
print(*[name for name in ${JSON.stringify(looked)} if find_spec(name)])`,
]).stdout;

/** @returns why not, as a sentence */
export function missingInPython(library: (typeof looked)[number]): string | undefined {
  const names = String(found ?? "").split(/\s/);
  return names.includes(library) ? undefined : `python3 here has no ${library}`;
}

type Answer = { told: unknown } | { result: unknown } | { raised: string };

/**
 * A Python program as a process, whose functions are called one at a time: an interpreter takes long to start. The source is
 * an argument, so that `python3` may be one that sees other files.
 */
export class PythonProgram {
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  constructor(program: URL) {
    const loop = new URL("python-program.py", import.meta.url);
    const source = [loop, program].map((url) => readFileSync(url, "utf8")).join("\n");
    const args = ["-c", `${source}\nserve(globals())`];
    const child = spawn("python3", args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout });
  }

  /**
   * Calls a function of the program.
   *
   * @param onTold - returns what its call of `tell` does
   * @throws Error with the traceback of what it raised
   */
  call<Result>(
    name: string,
    given: object,
    onTold: (value: never) => unknown = () => null,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#lines.off("line", onLine);
        this.#child.off("exit", onExit);
      };
      const onExit = () => {
        settle();
        reject(new Error("python3 ended"));
      };
      const onLine = (line: string) => {
        const answer = JSON.parse(line) as Answer;
        if ("told" in answer) {
          const reply = async () => this.#send((await onTold(answer.told as never)) ?? null);
          reply().catch(reject);
          return;
        }
        settle();
        if ("raised" in answer) reject(new Error(answer.raised));
        else resolve(answer.result as Result);
      };
      this.#lines.on("line", onLine);
      this.#child.once("exit", onExit);
      this.#send({ do: name, given });
    });
  }

  close(): void {
    this.#child.kill("SIGKILL");
  }

  #send(value: unknown): void {
    this.#child.stdin?.write(`${JSON.stringify(value)}\n`);
  }
}
