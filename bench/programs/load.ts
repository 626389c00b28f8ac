/** The load generator: bare sockets, prebuilt requests, answers only counted. In a process of its own. */
import { serveHarness } from "../../tests/faults/programs/rpc.ts";
import { type LoadResult, type LoadWish, runLoad } from "../load.ts";
import { HeldStreams } from "../held-streams.ts";
import type { Ask, Target } from "../target.ts";

let held: HeldStreams | undefined;

const handlers = {
  run: (wish: LoadWish): Promise<LoadResult> => runLoad(wish),
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
