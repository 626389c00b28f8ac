import type { HubView } from "./hub-policy.ts";
import { loneMs, type MachineSpec } from "./machine.ts";
import { shuffled } from "./random.ts";
import type { Incident, Scenario } from "./simulation.ts";
import { burst, requestOf, traffic } from "./traffic.ts";

export interface Variant extends HubView {
  name: string;
  /** all requests arrive at once, and nothing is warm */
  isBurst: boolean;
  scenario(random: () => number): Scenario;
}

const loadMs = 8_000;
const batchCost = 0.2;

/** A machine of speed 1 reads 2 KB of a prompt and writes 20 tokens a second. */
export function machineOf(speed: number, slots: number): MachineSpec {
  return { slots, promptRate: 2 * speed, tokenRate: 0.02 * speed, loadMs, batchCost };
}

/** In the order of their speed; they join in another. */
export const threeMachines: readonly MachineSpec[] = [
  machineOf(1, 1),
  machineOf(2, 2),
  machineOf(4, 4),
];
const threeEqual = [machineOf(2, 2), machineOf(2, 2), machineOf(2, 2)];

/** The machine of speed 4 leaves the room, and returns with cold caches. */
const absence = [
  { kind: "leaves", atMs: 30_000 },
  { kind: "returns", atMs: 60_000 },
] as const;
/** It has another model loaded at first, and later again. */
const loads = [
  { kind: "unloads", atMs: 0 },
  { kind: "unloads", atMs: 60_000 },
] as const;

const named = { hasSessions: true, reportsCache: false, isBurst: false };

export const variants: readonly Variant[] = [
  { name: "12 conversations, with session ids", ...named, scenario: chats({}) },
  { name: "without session ids", ...named, hasSessions: false, scenario: chats({}) },
  { name: "cached tokens are reported", ...named, reportsCache: true, scenario: chats({}) },
  { name: "the fastest leaves and returns", ...named, scenario: chats({ incidents: absence }) },
  { name: "the fastest loads its model", ...named, scenario: chats({ incidents: loads }) },
  { name: "6 conversations", ...named, scenario: chats({ conversations: 6 }) },
  { name: "three equal machines", ...named, scenario: chats({ machines: threeEqual }) },
  { name: "two machines of one slot, 8 at once", ...named, isBurst: true, scenario: eightAtOnce },
];

interface ChatWish {
  machines?: readonly MachineSpec[];
  conversations?: number;
  incidents?: readonly Omit<Incident, "index">[];
}

function chats({ machines = threeMachines, conversations = 12, incidents = [] }: ChatWish) {
  return (random: () => number): Scenario => {
    const joined = shuffled(random, machines);
    const index = joined.findIndex(({ slots }) => slots === 4);
    return {
      machines: joined,
      conversations: traffic(random, {
        conversations,
        turns: 10,
        arrivalMs: 1_500,
        thinkMs: 3_000,
      }),
      incidents: incidents.map((incident) => ({ ...incident, index })),
    };
  };
}

function eightAtOnce(random: () => number): Scenario {
  const userBytes = Math.round(1_000 + 3_000 * random());
  return {
    machines: [machineOf(1, 1), machineOf(1, 1)],
    conversations: burst(8, { userBytes, responseTokens: 100, thinkMs: 0 }),
    incidents: [],
  };
}

/** What the requests of a burst take when no slot is ever idle, in ms. */
export function idealMs({ machines, conversations }: Scenario): number {
  const [machine] = machines;
  if (machine === undefined) throw new Error("a scenario needs a machine");
  const work = conversations.map((one) => loneMs(machine, requestOf(one, 0, 0)));
  return work.reduce((sum, ms) => sum + ms, 0) / machines.length;
}
