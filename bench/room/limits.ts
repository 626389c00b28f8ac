import { median } from "../figures/spread.ts";
import { figuresOf } from "./figures.ts";
import { HubPolicy } from "./hub-policy.ts";
import type { MachineSpec } from "./machine.ts";
import { seededRandom, shuffled } from "./random.ts";
import { simulate } from "./simulation.ts";
import { traffic } from "./traffic.ts";
import { machineOf } from "./variants.ts";

/** Model servers that do not report how many requests they serve at once. */
interface UnknownSlots {
  name: string;
  machines: readonly MachineSpec[];
  conversations: number;
}

const one = machineOf(4, 1);
const two = machineOf(4, 2);
const four = machineOf(4, 4);
const sixteen = { ...machineOf(4, 16), batchCost: 0.05 };
/** Takes any number of requests, and serves them all at the rate of one. */
const shared = { ...machineOf(4, 16), batchCost: 1 };
const all = [one, two, four, sixteen, shared];

const rooms: readonly UnknownSlots[] = [
  { name: "two of 1 slot, 16 conversations", machines: [one, one], conversations: 16 },
  { name: "two of 4 slots, 16", machines: [four, four], conversations: 16 },
  { name: "two of 16 slots, 16", machines: [sixteen, sixteen], conversations: 16 },
  { name: "two of one rate for all, 16", machines: [shared, shared], conversations: 16 },
  { name: "1, 2, 4, 16 and one rate, 24", machines: all, conversations: 24 },
  { name: "1, 2, 4, 16 and one rate, 60", machines: all, conversations: 60 },
];

/** What the hub takes as their limit; undefined: their slots, as if they reported them. */
const limits = [undefined, 2, 4, 8, 16, 256];

/** Makespan and p95 to the first token by the limit of servers that report none, medians: cells, the header first. */
export function limitTable(seeds: readonly number[]): string[][] {
  const header = limits.map((limit) => (limit === undefined ? "their slots" : String(limit)));
  const rows = rooms.map((room) => [
    room.name,
    ...limits.map((limit) => {
      const runs = seeds.map((seed) => runOnce(room, limit, seed));
      const makespanMs = median(runs.map((run) => run.makespanMs));
      const firstP95Ms = median(runs.map((run) => run.firstP95Ms));
      return `${(makespanMs / 1_000).toFixed(0)} s, ${(firstP95Ms / 1_000).toFixed(1)} s`;
    }),
  ]);
  return [["Makespan, p95 to the first token", ...header], ...rows];
}

function runOnce(
  { machines, conversations }: UnknownSlots,
  limit: number | undefined,
  seed: number,
) {
  const random = seededRandom(seed);
  const joined = shuffled(random, machines);
  const limitOf = ({ slots }: MachineSpec) => limit ?? slots;
  const wish = { conversations, turns: 10, arrivalMs: 300, thinkMs: 1_000 };
  const scenario = {
    machines: joined,
    limits: joined.map(limitOf),
    conversations: traffic(random, wish),
    incidents: [],
  };
  const view = { hasSessions: true, reportsCache: false };
  return figuresOf(simulate(scenario, new HubPolicy(scenario.limits, view)));
}
