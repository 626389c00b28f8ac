/** The load generator: bare sockets, prebuilt requests, responses only counted. In a process of its own. */
import { serveHarness } from "../../tests/faults/programs/rpc.ts";
import { type LoadResult, LoadRun, type LoadSettings, runLoad } from "../load/load.ts";
import { HeldStreams } from "../load/held-streams.ts";
import type { RequestShape, Target } from "../load/target.ts";

let held: HeldStreams | undefined;
let steady: LoadRun | undefined;

const handlers = {
  run: (settings: LoadSettings): Promise<LoadResult> => runLoad(settings),
  /** A load that runs until `end`. */
  async begin(settings: LoadSettings): Promise<void> {
    steady = new LoadRun(settings);
    await steady.begin();
  },
  window(ms: number): Promise<LoadResult> {
    if (steady === undefined) throw new Error("no load has begun");
    return steady.window(ms);
  },
  end(): void {
    steady?.close();
    steady = undefined;
  },
  /** Opens streams and keeps them open. Resolves when each has had its first byte. */
  async hold({ target, shape, count }: { target: Target; shape: RequestShape; count: number }) {
    held ??= new HeldStreams();
    await held.open(target, shape, count);
  },
  /** @returns what went wrong since they were opened */
  release(): string[] {
    const problems = held?.close() ?? [];
    held = undefined;
    return problems;
  },
};
export type LoadHandlers = typeof handlers;
serveHarness(handlers);
