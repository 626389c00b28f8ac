import { forecast } from "./forecast.ts";
import {
  COSTS,
  type ClusterLoad,
  type CostName,
  type Costs,
  type Figures,
  type Points,
} from "./points.ts";

/** A figure that was measured, and what the simulation says of it. */
export interface Deviation {
  point: string;
  figure: keyof Figures;
  measured: number;
  simulated: number;
  isWithin: boolean;
}

const largestDeviation = 0.15;

export function comparePoints({ points }: Points, costs: Costs): Deviation[] {
  return points.flatMap(({ name, load, seen }) => {
    const simulated = forecast(load, costs);
    return (Object.entries(seen) as [keyof Figures, number][]).map(([figure, measured]) => ({
      ...{ point: name, figure, measured, simulated: simulated[figure] },
      isWithin: Math.abs(simulated[figure] / measured - 1) <= largestDeviation,
    }));
  });
}

const figureNames: Record<keyof Figures, string> = {
  hubCpuShare: "CPU of a hub",
  natsCpuShare: "CPU of nats-server",
  lagP99Ms: "lag, p99",
  hubBytes: "memory of a hub",
};

const figureText: Record<keyof Figures, (value: number) => string> = {
  hubCpuShare: percent,
  natsCpuShare: percent,
  lagP99Ms: milliseconds,
  hubBytes: megabytes,
};

export function deviationTable(deviations: readonly Deviation[]): string[][] {
  return [
    ["Run", "Figure", "Measured", "Simulated", "Deviation"],
    ...deviations.map(({ point, figure, measured, simulated, isWithin }) => [
      point,
      figureNames[figure],
      figureText[figure](measured),
      figureText[figure](simulated),
      `${signedPercent(simulated / measured - 1)}${isWithin ? "" : " ✗"}`,
    ]),
  ];
}

export function costTable({ costs }: Points): string[][] {
  return [
    ["Cost", "Value", "From"],
    ...(Object.keys(COSTS) as CostName[]).map((name) => {
      const { value, source } = costs[name];
      const unit = name.endsWith("Ms") ? "ms" : name.endsWith("Bytes") ? "bytes" : "µs";
      return [COSTS[name], `${Number(value.toPrecision(3)).toLocaleString("en")} ${unit}`, source];
    }),
  ];
}

/** Each hub has a hundred participants, and without a cluster less to do than half a core can. */
const ofEachHub = { participants: 100, rooms: 10, requestsPerSecond: 60, changesPerSecond: 2 };

export function loadOf(hubs: number, groups: number, isWarmthShared = true): ClusterLoad {
  return {
    ...{ hubs, groups, natsCores: 4, chunksPerRequest: 100 },
    rooms: hubs * ofEachHub.rooms,
    participants: hubs * ofEachHub.participants,
    requestsPerSecond: hubs * ofEachHub.requestsPerSecond,
    changesPerSecond: hubs * ofEachHub.changesPerSecond,
    otherEventsPerSecond: hubs * ofEachHub.changesPerSecond,
    subscribersPerRoom: 3,
    isSpread: false,
    isWarmthShared,
  };
}

/** hubs and groups */
const sizes = [
  [1, 1],
  [3, 1],
  [10, 1],
  [30, 1],
  [100, 1],
  [100, 10],
  [1_000, 1],
  [1_000, 100],
] as const;

export function forecastTable(costs: Costs): string[][] {
  const head = [
    ...["Hubs", "Groups", "CPU of a hub", "of it for notices", "for changes and presence"],
    ...["Links of a hub", "Memory of a hub", "CPU of a NATS", "Its messages a second", "Lag, p99"],
  ];
  const rows = sizes.map(([hubs, groups]) => {
    const seen = forecast(loadOf(hubs, groups), costs);
    const of = (...names: string[]) =>
      percent(names.reduce((sum, name) => sum + (seen.hubCpu[name] ?? 0), 0));
    return [
      hubs.toLocaleString("en"),
      String(groups),
      percent(seen.hubCpuShare),
      of("notices"),
      of("directory", "presence"),
      seen.work.links.toLocaleString("en"),
      megabytes(seen.hubBytes),
      percent(seen.natsCpuShare),
      Math.round(seen.natsMessagesPerSecond).toLocaleString("en"),
      milliseconds(seen.lagP99Ms),
    ];
  });
  return [head, ...rows];
}

function percent(share: number): string {
  const hundredths = share * 100;
  return `${hundredths.toLocaleString("en", { maximumFractionDigits: hundredths < 10 ? 1 : 0 })} %`;
}

function signedPercent(share: number): string {
  return `${share < 0 ? "−" : "+"} ${percent(Math.abs(share))}`;
}

function milliseconds(ms: number): string {
  return Number.isFinite(ms) ? `${Number(ms.toPrecision(2))} ms` : "overloaded";
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6).toLocaleString("en")} MB`;
}
