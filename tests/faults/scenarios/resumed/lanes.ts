import type { CallOutcome } from "../../client-call.ts";
import { mib, pauseMs } from "../../figure.ts";
import type { Wish, World } from "../../world.ts";

/** How a client reads, and what it asks for. */
export type LaneKind = "steady" | "json" | "large" | "fast" | "slow" | "paused";

export interface LaneCall {
  agent: number;
  kind: LaneKind;
  outcome: CallOutcome;
}

/** Keeps a number of calls running at each agent, one after the other, until they are stopped. */
export class Lanes {
  readonly calls: LaneCall[] = [];
  readonly #world: World;
  readonly #random: () => number;
  readonly #running = new Map<string, number>();
  readonly #work: Promise<void>[] = [];
  #number = 0;
  #isStopped = false;

  constructor(world: World, random: () => number) {
    this.#world = world;
    this.#random = random;
  }

  start(agents: number, each: number): void {
    this.#isStopped = false;
    for (let lane = 0; lane < agents * each; lane++) this.#work.push(this.#keepOne(lane % agents));
  }

  /** Resolves when so many calls have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#work.splice(0));
  }

  /** A call of the agent loses its client. @returns the call's tag, unless there is none */
  async leaveOne(agent: number): Promise<string | undefined> {
    const tags = [...this.#running].filter(([, at]) => at === agent).map(([tag]) => tag);
    const tag = tags[Math.floor(this.#random() * tags.length)];
    if (tag === undefined) return undefined;
    // It may have ended in this moment.
    await this.#world.clients.call("leave", tag).catch(() => undefined);
    return tag;
  }

  async #keepOne(agent: number): Promise<void> {
    while (!this.#isStopped) {
      const [kind, wish] = this.#nextWish(agent);
      this.#running.set(wish.tag, agent);
      await this.#world.start(wish);
      const outcome = await this.#world.outcome(wish.tag);
      this.#running.delete(wish.tag);
      this.calls.push({ agent, kind, outcome });
      // Refused while its agent is away: it is asked again a moment later.
      if (outcome.end === "error") await pauseMs(250);
    }
  }

  #nextWish(agent: number): [LaneKind, Wish] {
    const number = this.#number++;
    const kind = this.#kind();
    const wish = {
      tag: `${kind}-${number}`,
      model: modelOf(agent),
      surface: this.#random() < 0.5 ? ("chat/completions" as const) : ("responses" as const),
      keepsTimes: kind === "steady",
      ...this.#wishOf(kind),
    };
    return [kind, wish];
  }

  #kind(): LaneKind {
    const at = this.#random();
    if (at < 0.55) return "steady";
    if (at < 0.6) return "json";
    if (at < 0.7) return "large";
    if (at < 0.8) return "fast";
    return at < 0.9 ? "slow" : "paused";
  }

  #wishOf(kind: LaneKind): Partial<Wish> {
    const between = (least: number, most: number) =>
      Math.floor(least + this.#random() * (most - least));
    const seed = between(0, 2 ** 31);
    const scale = this.#world.isQuick ? 0.25 : 1;
    const talk = { pieces: scale * between(120, 400), delayMs: 30, pieceLength: 120, seed };
    const flood = { pieces: scale * between(300, 900), delayMs: 0, pieceLength: 6_000, seed };
    switch (kind) {
      case "steady":
        return { hashed: talk };
      case "json":
        return { hashed: { ...talk, pieces: talk.pieces / 2 }, stream: false };
      case "large":
        return {
          hashed: { ...talk, pieces: talk.pieces / 4 },
          paddingBytes: scale * between(2 * mib, 8 * mib),
        };
      case "fast":
        return { hashed: flood };
      case "slow":
        return { hashed: flood, pauses: { everyBytes: 48 * 1024, forMs: 60 } };
      case "paused":
        return {
          hashed: flood,
          pauses: { everyBytes: 600_000, forMs: scale * between(1_000, 4_000) },
        };
    }
  }
}

export function modelOf(agent: number): string {
  return `model-${agent}`;
}
