import type { HubIdentity } from "../../domain/hub-identity.ts";

export interface LeavingOptions {
  /** The hubs that can take the room, in the order in which they are asked. */
  ranked: (code: string) => HubIdentity[];
  /** This hub is the room's home. */
  isHome: (code: string) => boolean;
  /** Resolves when the other hub is the home, or does not take the room. */
  handOver: (code: string, to: HubIdentity) => Promise<void>;
}

/** Rooms that are handed over at the same time. */
const maxHandOvers = 16;

/** A hub that stops, and gives its rooms to others. */
export class Leaving {
  readonly #options: LeavingOptions;
  /** rooms that no other hub takes */
  readonly #kept = new Set<string>();

  constructor(options: LeavingOptions) {
    this.#options = options;
  }

  /** Resolves when all of them are handed over, or stay. */
  async giveAll(codes: readonly string[]): Promise<void> {
    const left = [...codes];
    const giveSome = async () => {
      for (let code = left.pop(); code !== undefined; code = left.pop()) await this.#give(code);
    };
    await Promise.all(Array.from({ length: maxHandOvers }, giveSome));
  }

  /** What would begin in the room now, the next home begins. @returns false for a room that stays */
  give(code: string): boolean {
    if (this.#kept.has(code)) return false;
    void this.#give(code);
    return true;
  }

  async #give(code: string): Promise<void> {
    const { ranked, isHome, handOver } = this.#options;
    for (const next of ranked(code)) {
      await handOver(code, next);
      if (!isHome(code)) return;
    }
    if (isHome(code)) this.#kept.add(code);
  }
}
