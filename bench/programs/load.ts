/** The load generator: bare sockets, prebuilt requests, answers only counted. In a process of its own. */
import { serveHarness } from "../../tests/faults/programs/rpc.ts";
import { type LoadResult, LoadRun, type LoadWish, runLoad } from "../load/load.ts";
import { HeldStreams } from "../load/held-streams.ts";
import type { Ask, Target } from "../load/target.ts";

let held: HeldStreams | undefined;
let steady: LoadRun | undefined;

const handlers = {
  run: (wish: LoadWish): Promise<LoadResult> => runLoad(wish),
  /** A load that goes on until `end`. */
  async begin(wish: LoadWish): Promise<void> {
    steady = new LoadRun(wish);
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
  /** Opens streams and keeps them. Resolves when each has said something. */
  async hold({ target, ask, count }: { target: Target; ask: Ask; count: number }) {
    held ??= new HeldStreams();
    await held.open(target, ask, count);
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
