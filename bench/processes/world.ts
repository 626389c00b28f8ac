import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Children, type Program } from "../../tests/faults/child.ts";
import type { Handlers } from "../../tests/faults/programs/rpc.ts";
import { within } from "../../tests/support/waiting.ts";
import type { LoadResult, LoadSettings } from "../load/load.ts";
import type { LoadHandlers } from "../programs/load.ts";
import type { ProviderHandlers } from "../programs/provider.ts";
import type { Target } from "../load/target.ts";

export interface BenchProvider {
  url: string;
  port: number;
  pid: number;
  /** called directly, with nothing in between */
  target: Target;
}

export interface SteadyLoad extends AsyncDisposable {
  /** What is measured within the next `ms` milliseconds. */
  window(ms: number): Promise<LoadResult>;
}

/** The processes of one run of the benchmark. What several rows need is started once, when the first of them needs it. */
export class BenchWorld implements AsyncDisposable {
  readonly isQuick: boolean;
  readonly children = new Children();
  readonly #folder: string;
  readonly #made = new Map<string, Promise<unknown>>();
  readonly #beforeEnd: (() => Promise<void>)[] = [];
  #files = 0;

  constructor(folder: string, isQuick: boolean) {
    this.#folder = folder;
    this.isQuick = isQuick;
    this.children.undoOnCrash(`rm -rf ${folder}`);
  }

  static async create(isQuick: boolean): Promise<BenchWorld> {
    return new BenchWorld(await mkdtemp(join(tmpdir(), "roomhub-bench-")), isQuick);
  }

  /** Made at the first call, shared by all later ones. */
  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const made = this.#made.get(name) ?? make();
    this.#made.set(name, made);
    return made as Promise<T>;
  }

  /** @returns the first in a full run, the second in a quick one */
  either<T>(full: T, quick: T): T {
    return this.isQuick ? quick : full;
  }

  /** What must be done in order before every process is killed. */
  beforeEnd(work: () => Promise<void>): void {
    this.#beforeEnd.push(work);
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  newPath(name: string): string {
    return this.path(`${++this.#files}-${name}`);
  }

  /** @param name - of one beside that of all targets */
  provider(name = "provider"): Promise<BenchProvider> {
    return this.once(name, async () => {
      const program = await this.#program<ProviderHandlers>("provider");
      const url = await program.call("url");
      const port = Number(new URL(url).port);
      const target: Target = {
        ...{ name: "direct", path: "/v1/chat/completions", port, pid: program.pid },
        ...{ headers: {}, models: ["fake-model"], isTransparent: true },
      };
      return { url, port, pid: program.pid, target };
    });
  }

  loadProgram(): Promise<Program<LoadHandlers>> {
    return this.once("load", () => this.#program<LoadHandlers>("load"));
  }

  /** A load that continues while other things change, and is measured in windows. One at a time. */
  async steadyLoad(settings: Omit<LoadSettings, "pids" | "windowMs">): Promise<SteadyLoad> {
    const program = await this.loadProgram();
    const what = `the load on ${settings.target.name}`;
    const beginning = program.call("begin", { ...settings, windowMs: 0, pids: {} });
    await within(beginning, `${what} to begin`, 3 * (settings.rampMs + settings.warmupMs) + 20_000);
    return {
      window: (ms) => within(program.call("window", ms), `a window of ${what}`, 3 * ms + 20_000),
      [Symbol.asyncDispose]: () => program.call("end"),
    };
  }

  /** @throws Error when it takes far longer than it should */
  async load(settings: Omit<LoadSettings, "pids"> & Partial<LoadSettings>): Promise<LoadResult> {
    const [program, provider] = await Promise.all([this.loadProgram(), this.provider()]);
    const longestMs = 3 * (settings.rampMs + settings.warmupMs + settings.windowMs) + 20_000;
    const { participantPid } = settings.target;
    const pids: Record<string, number> = { provider: provider.pid, ...settings.pids };
    if (participantPid !== undefined) pids["participant"] = participantPid;
    const loading = program.call("run", { ...settings, pids });
    return within(loading, `the load on ${settings.target.name} to end`, longestMs);
  }

  #program<H extends Handlers>(name: "load" | "provider"): Promise<Program<H>> {
    return this.children.program<H>(new URL(`../programs/${name}.ts`, import.meta.url));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#beforeEnd.map((work) => work()));
    await this.children[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
