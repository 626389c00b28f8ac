import { percentile } from "../../../tests/faults/figure.ts";
import { startHub } from "../../processes/hub.ts";
import { BenchWorld } from "../../processes/world.ts";
import type { RowReport } from "../../report/results.ts";
import type { BenchFigure } from "../../row.ts";
import { loneMs, type MachineSpec } from "../machine.ts";
import { seededRandom } from "../random.ts";
import { burst, type Conversation, requestOf, traffic } from "../traffic.ts";
import { machineOf, threeMachines } from "../variants.ts";
import { type LiveOutcome, type LiveRoom, openLiveRoom } from "./live-rooms.ts";

/** Everything is so many times as fast as in the simulation. */
const hurry = 8;
const seed = 1;

const [slow, medium, fast] = threeMachines.map(hurried) as [MachineSpec, MachineSpec, MachineSpec];
const oneSlot = hurried(machineOf(1, 1));
const chats = conversationsOf(12);
const laptopChats = conversationsOf(6);
const eight = burst(8, { userBytes: 2_000, responseTokens: 100, thinkMs: 0 });

const rooms = {
  fastAlone: { machines: [fast], conversations: chats },
  allThree: { machines: [slow, medium, fast], conversations: chats },
  oneLaptop: { machines: [medium], conversations: laptopChats },
  twoLaptops: { machines: [medium, medium], conversations: laptopChats },
  eightAtOnce: { machines: [oneSlot, oneSlot], conversations: eight },
} satisfies Record<string, LiveRoom>;

type Outcomes = Record<keyof typeof rooms, LiveOutcome>;

/** The shipped hub and participants before model servers that emulate machines: all rooms at once, on one hub. */
export async function measureLiveRooms(): Promise<RowReport[]> {
  await using world = await BenchWorld.create(true);
  const hub = await startHub(world);
  const startMs = performance.now();
  const names = Object.keys(rooms) as (keyof typeof rooms)[];
  const open = await Promise.all(names.map((name) => openLiveRoom(world, hub, rooms[name])));
  const outcomes = await Promise.all(open.map((room) => room.run()));
  const seconds = (performance.now() - startMs) / 1_000;
  const rows = rowsOf(
    Object.fromEntries(names.map((name, index) => [name, outcomes[index]])) as Outcomes,
  );
  return rows.map((row, index) => ({ ...row, id: `L${index + 1}`, seconds }));
}

type Unnumbered = Extract<RowReport, { kind: "measured" }>;

function rowsOf(of: Outcomes): Omit<Unnumbered, "id" | "seconds">[] {
  const ideal = (eight.length / 2) * loneMs(oneSlot, requestOf(firstOf(eight), 0, 0));
  return [
    {
      title: "three machines against the fastest of them alone, 12 conversations",
      kind: "measured",
      figures: [
        ratio("makespan, three / one", of.allThree, of.fastAlone, makespanMs, 0.9),
        ratio("p50 to the first token, three / one", of.allThree, of.fastAlone, firstP50Ms, 0.6),
        ratio("p95 to the first token, three / one", of.allThree, of.fastAlone, firstP95Ms, 0.8),
      ],
      seen: [`one: ${seenOf(of.fastAlone)}`, `three: ${seenOf(of.allThree)}`],
    },
    {
      title: "a second equal laptop, 6 conversations",
      kind: "measured",
      figures: [
        ratio("makespan, two / one", of.twoLaptops, of.oneLaptop, makespanMs, 0.7),
        ratio("p50 to the first token, two / one", of.twoLaptops, of.oneLaptop, firstP50Ms, 0.5),
        ratio("p95 to the first token, two / one", of.twoLaptops, of.oneLaptop, firstP95Ms, 0.5),
      ],
      seen: [`one: ${seenOf(of.oneLaptop)}`, `two: ${seenOf(of.twoLaptops)}`],
    },
    {
      title: "two machines of one slot, 8 at once",
      kind: "measured",
      figures: [
        {
          what: "makespan / no idle slot",
          value: makespanMs(of.eightAtOnce) / ideal,
          goal: 1.1,
          unit: "×",
        },
        {
          what: "longest time a slot was free",
          value: longestGapMs(of.eightAtOnce),
          goal: 50,
          unit: "ms",
        },
      ],
      seen: [seenOf(of.eightAtOnce)],
    },
  ];
}

function conversationsOf(conversations: number): Conversation[] {
  const wish = { conversations, turns: 10, arrivalMs: 1_500 / hurry, thinkMs: 3_000 / hurry };
  return traffic(seededRandom(seed), wish);
}

function hurried({ promptRate, tokenRate, ...spec }: MachineSpec): MachineSpec {
  return { ...spec, promptRate: promptRate * hurry, tokenRate: tokenRate * hurry };
}

function ratio(
  what: string,
  one: LiveOutcome,
  other: LiveOutcome,
  figure: (outcome: LiveOutcome) => number,
  goal: number,
): BenchFigure {
  return { what, value: figure(one) / figure(other), goal, unit: "×" };
}

function makespanMs({ received }: LiveOutcome): number {
  const begin = Math.min(...received.map(({ arrivedMs }) => arrivedMs));
  return Math.max(...received.map(({ endMs }) => endMs)) - begin;
}

function firstP50Ms(outcome: LiveOutcome): number {
  return percentile(firstMsOf(outcome), 0.5);
}

function firstP95Ms(outcome: LiveOutcome): number {
  return percentile(firstMsOf(outcome), 0.95);
}

function firstMsOf({ received }: LiveOutcome): number[] {
  return received.map(({ arrivedMs, firstMs }) => firstMs - arrivedMs);
}

/** Between the end of a request and the start of the next, on a machine of one slot. */
function longestGapMs({ served }: LiveOutcome): number {
  const gaps = served.flatMap((jobs) =>
    jobs.slice(1).map(({ startedMs }, index) => startedMs - (jobs[index]?.endMs ?? 0)),
  );
  return Math.max(...gaps);
}

function seenOf(outcome: LiveOutcome): string {
  const jobs = outcome.served.flat();
  const sum = (of: (job: (typeof jobs)[number]) => number) =>
    jobs.reduce((total, job) => total + of(job), 0);
  const warm = sum(({ warmBytes }) => warmBytes) / sum(({ promptBytes }) => promptBytes);
  const requests = outcome.served.map(({ length }) => length).join(" + ");
  return `makespan ${(makespanMs(outcome) / 1_000).toFixed(1)} s, first token p50 ${firstP50Ms(outcome).toFixed(0)} ms, p95 ${firstP95Ms(outcome).toFixed(0)} ms, ${(warm * 100).toFixed(0)} % warm, ${requests} requests`;
}

function firstOf<T>(among: readonly T[]): T {
  const [first] = among;
  if (first === undefined) throw new Error("none");
  return first;
}
