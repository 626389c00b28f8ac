import type { World } from "./world.ts";

/** What a scenario cannot do without on the machine it runs on. */
export type Need =
  | "root"
  | "ip"
  | "namespaces"
  | "iptables"
  | "tc"
  | "faketime"
  | "proc"
  | "nats-server"
  | "haproxy";

/** One fault, and what must hold in spite of it. */
export interface Scenario {
  id: string;
  /** a sentence about behaviour */
  title: string;
  needs: readonly Need[];
  /** runs in `--quick` too, with shorter limits and smaller numbers (`world.isQuick`) */
  isQuick: boolean;
  /** 4 minutes when left out */
  limitMs?: number;
  /** throws, or records a missed figure, when the promise does not hold */
  run(world: World): Promise<void>;
}
