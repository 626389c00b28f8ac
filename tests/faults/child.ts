import { type ChildProcess, fork, spawn, type StdioOptions } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until, within } from "../support/waiting.ts";
import { cpuMsOf, fdCountOf, rssBytesOf, startTimeOf } from "./proc.ts";
import type { Handlers } from "./programs/rpc.ts";

const sourceCondition = "--conditions=@roomhub/source";
/** What starts `roomhub`. */
export const roomhubCommand = roomhubCommandOf(fileURLToPath(new URL("../../", import.meta.url)));

/** What starts `roomhub` of a checkout, whose packages must be installed. */
export function roomhubCommandOf(checkout: string) {
  return [
    process.execPath,
    sourceCondition,
    "--disable-warning=ExperimentalWarning",
    join(checkout, "packages/cli/src/bin.ts"),
  ] as const;
}

export type RoomhubCommand = typeof roomhubCommand;

/** A process of its own, ended by its pid. */
export interface Child {
  readonly pid: number;
  readonly hasEnded: boolean;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  rssBytes(): number;
  fdCount(): number;
  cpuMs(): number;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when it has exited. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** `roomhub …` with its output in a file: a pipe that is not read would block it. */
export interface RoomhubChild extends Child {
  output(): string;
  /** The first JSON line for which `holds`. */
  line(
    what: string,
    holds: (line: Record<string, unknown>) => boolean,
    timeoutMs?: number,
  ): Promise<Record<string, unknown>>;
}

export interface RoomhubLaunch {
  args: readonly string[];
  env?: Record<string, string> | undefined;
  /** what runs it, such as `ip netns exec NAME`; must become it, not stay its parent */
  prefix?: readonly string[] | undefined;
  /** what starts it; default: that of this checkout */
  roomhub?: RoomhubCommand | undefined;
  outputPath: string;
}

/** One of `programs/`, controlled over IPC. */
export interface Program<H extends Handlers> extends Child {
  call<Name extends keyof H & string>(
    name: Name,
    ...argument: Parameters<H[Name]>
  ): Promise<Awaited<ReturnType<H[Name]>>>;
  on(event: string, listener: (value: never) => void): void;
}

/** A reply to a call, or a notification. */
interface ProgramMessage {
  number?: number;
  result?: unknown;
  problem?: string;
  event?: string;
  value?: unknown;
}

/** Starts processes and makes sure that none of them outlives the harness. */
export class Children implements AsyncDisposable {
  readonly #running = new Map<number, Child>();
  readonly #guard: ChildProcess;

  readonly #env: Record<string, string>;

  /** @param env - for all of them */
  constructor(env: Record<string, string> = {}) {
    this.#env = env;
    const guard = fileURLToPath(new URL("programs/guard.ts", import.meta.url));
    // Detached, so that a signal to the harness' group leaves it alive for the cleaning.
    this.#guard = spawn(process.execPath, [guard], {
      stdio: ["pipe", "ignore", "inherit"],
      detached: true,
    });
    this.#guard.stdin?.on("error", () => undefined);
    this.#guard.unref();
  }

  /** Any program; its output is written to the file. */
  command(
    [command, ...args]: readonly [string, ...string[]],
    outputPath: string,
    env: Record<string, string> = {},
  ): Child {
    const output = openSync(outputPath, "a");
    const stdio: StdioOptions = ["ignore", output, output];
    const child = spawn(command, args, { stdio, env: { ...cleanEnv(), ...this.#env, ...env } });
    closeSync(output);
    return this.#keep(child);
  }

  roomhub({
    args,
    env = {},
    prefix = [],
    roomhub = roomhubCommand,
    outputPath,
  }: RoomhubLaunch): RoomhubChild {
    const [command, ...rest] = [...prefix, ...roomhub, ...args, "--json"];
    const started = this.command([command, ...rest], outputPath, env);
    const text = () => readFileSync(outputPath, "utf8");
    const find = (holds: (line: Record<string, unknown>) => boolean) =>
      text().split("\n").filter(isJsonLine).map(parseLine).find(holds);
    return Object.assign(started, {
      output: text,
      async line(
        what: string,
        holds: (line: Record<string, unknown>) => boolean,
        timeoutMs?: number,
      ) {
        const found = await until(
          `${what} from roomhub ${args[0]}`,
          () => find(holds) ?? (started.hasEnded ? "ended" : undefined),
          (value) => value !== undefined,
          timeoutMs,
        ).catch((cause: Error) => {
          throw new Error(`${cause.message}; it wrote:\n${text()}`, { cause });
        });
        if (found === "ended" || found === undefined) {
          throw new Error(`roomhub ${args[0]} ended without ${what}:\n${text()}`);
        }
        return found;
      },
    });
  }

  /** @param name - a file of `programs/`, without `.ts`; or where else a program is */
  async program<H extends Handlers>(
    name: string | URL,
    argument: readonly string[] = [],
    prefix: readonly string[] = [],
  ): Promise<Program<H>> {
    const location = name instanceof URL ? name : new URL(`programs/${name}.ts`, import.meta.url);
    const path = fileURLToPath(location);
    const child = startProgram(path, argument, prefix, { ...cleanEnv(), ...this.#env });
    let lastNumber = 0;
    const calls = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
    const listeners = new Map<string, ((value: never) => void)[]>();
    const ready = Promise.withResolvers<void>();
    listeners.set("ready", [() => ready.resolve()]);
    child.on("message", (message) => {
      const { number, result, problem, event, value } = message as ProgramMessage;
      if (event !== undefined) {
        for (const listener of listeners.get(event) ?? []) listener(value as never);
        return;
      }
      const call = calls.get(number ?? 0);
      calls.delete(number ?? 0);
      if (problem === undefined) call?.resolve(result);
      else call?.reject(new Error(`${name}: ${problem}`));
    });
    const kept = this.#keep(child);
    void kept.exited.then(() => {
      const error = new Error(`the program ${name} ended`);
      ready.reject(error);
      for (const call of calls.values()) call.reject(error);
    });
    await within(ready.promise, `the program ${name} to start`);
    return Object.assign(kept, {
      call<Name extends keyof H & string>(callName: Name, ...values: Parameters<H[Name]>) {
        if (kept.hasEnded) return Promise.reject(new Error(`the program ${name} has ended`));
        const number = ++lastNumber;
        const answer = Promise.withResolvers<unknown>();
        calls.set(number, answer);
        child.send({ number, name: callName, argument: (values as unknown[])[0] ?? null });
        return answer.promise as Promise<Awaited<ReturnType<H[Name]>>>;
      },
      on(event: string, listener: (value: never) => void) {
        listeners.set(event, [...(listeners.get(event) ?? []), listener]);
      },
    });
  }

  /** A shell command that undoes something, run if the harness is killed before {@link forgetUndo}. */
  undoOnCrash(command: string): void {
    this.#tellGuard(`! ${command}`);
  }

  forgetUndo(command: string): void {
    this.#tellGuard(`~ ${command}`);
  }

  async endAll(): Promise<void> {
    await Promise.all([...this.#running.values()].map((child) => child.kill("SIGKILL")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.endAll();
    this.#guard.stdin?.end();
  }

  #keep(child: ChildProcess): Child {
    const pid = child.pid;
    if (pid === undefined) throw new Error(`${child.spawnfile} could not be started`);
    let hasEnded = false;
    const exit = Promise.withResolvers<{ code: number | null; signal: NodeJS.Signals | null }>();
    child.on("error", () => undefined);
    child.on("exit", (code, signal) => {
      hasEnded = true;
      this.#running.delete(pid);
      this.#tellGuard(`- ${pid}`);
      exit.resolve({ code, signal });
    });
    this.#tellGuard(`+ ${pid} ${startTimeOf(pid)}`);
    const send = (signal: NodeJS.Signals) => {
      if (!hasEnded) child.kill(signal);
    };
    const kept: Child = {
      pid,
      get hasEnded() {
        return hasEnded;
      },
      exited: exit.promise,
      rssBytes: () => rssBytesOf(pid),
      fdCount: () => fdCountOf(pid),
      cpuMs: () => cpuMsOf(pid),
      signal: send,
      async kill(signal = "SIGKILL") {
        send(signal);
        // A stopped process takes no other signal than this one and SIGKILL.
        if (signal !== "SIGKILL") send("SIGCONT");
        await within(exit.promise, `the end of process ${pid}`, 45_000);
      },
    };
    this.#running.set(pid, kept);
    return kept;
  }

  #tellGuard(line: string): void {
    if (this.#guard.stdin?.writable === true) this.#guard.stdin.write(`${line}\n`);
  }
}

function startProgram(
  path: string,
  argument: readonly string[],
  prefix: readonly string[],
  env: NodeJS.ProcessEnv,
): ChildProcess {
  const flags = [sourceCondition, ...heapFlags, "--disable-warning=ExperimentalWarning"];
  const [command, ...rest] = prefix;
  if (command === undefined) {
    return fork(path, argument, { execArgv: flags, stdio: inheritErrors, env });
  }
  return spawn(command, [...rest, process.execPath, ...flags, path, ...argument], {
    stdio: inheritErrors,
    env,
  });
}

/** As `roomhub` has them for itself (cli/src/heap-growth.ts): a process that only serves a measurement must not pause in it. */
const heapFlags = [
  "--max-semi-space-size=16",
  "--heap-growing-percent=200",
  "--no-allocation-site-pretenuring",
];

const inheritErrors: ["ignore", "inherit", "inherit", "ipc"] = [
  "ignore",
  "inherit",
  "inherit",
  "ipc",
];

/** No settings of the user, and no proxy. */
function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(ROOMHUB_|NODE_OPTIONS|VITEST|.*_proxy$)/i.test(name),
    ),
  );
}

function isJsonLine(line: string): boolean {
  return line.startsWith("{") && line.endsWith("}");
}

function parseLine(line: string): Record<string, unknown> {
  return JSON.parse(line) as Record<string, unknown>;
}
