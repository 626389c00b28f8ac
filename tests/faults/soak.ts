import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { until } from "../support/waiting.ts";
import type { HeapProbe } from "./programs/heap-probe.ts";
import type { ProxyHandlers } from "./programs/proxy.ts";
import { inMib, mib, must, pauseMs, smallHeap } from "./figure.ts";
import type { Scenario } from "./scenario.ts";
import { createRandom } from "./seeded-random.ts";
import type { World } from "./world.ts";

/** Ordinary load for a long time, and a random fault every ten seconds. */
export function soakScenario(minutes: number): Scenario {
  return {
    id: "soak",
    title: `${minutes} minutes of load with a random fault every ten seconds leave nothing behind`,
    needs: ["proc"],
    isQuick: false,
    limitMs: (minutes + 5) * 60_000,
    async run(world) {
      const probe = fileURLToPath(new URL("programs/heap-probe.ts", import.meta.url));
      const options = `${smallHeap.NODE_OPTIONS} --import=${probe}`;
      await world.open({ env: { NODE_OPTIONS: options, HEAP_PROBE_FILE: probeFileOf(world) } });
      const seed = Date.now() % 2 ** 32;
      process.stdout.write(`soak: seed ${seed}\n`);
      await soak(world, minutes, createRandom(seed));
    },
  };
}

async function soak(world: World, minutes: number, random: () => number): Promise<void> {
  const proxy = await world.children.program<ProxyHandlers>("proxy");
  const port = await proxy.call("listen", { port: world.hub.port, seed: 1 });
  await world.addParticipant("p2", world.provider.url, { hubUrl: `http://127.0.0.1:${port}` });
  const samples: { atMinutes: number; rss: number; fds: number; heap: HeapProbe }[] = [];
  const startedMs = performance.now();
  const minutesSoFar = () => (performance.now() - startedMs) / 60_000;
  let calls = 0;
  let faults = 0;
  let wave = 0;
  while (minutesSoFar() < minutes) {
    for (let number = 0; number < 6 && minutesSoFar() < minutes; number++) {
      const tags = await askBoth(world, ++wave);
      await pauseMs(500 + random() * 2_000);
      await faultOf(world, proxy, Math.floor(random() * 5));
      faults++;
      await world.outcomes(tags);
      await pauseMs(5_000);
    }
    const { calls: callsSoFar, problems } = await world.checkpoint();
    calls = callsSoFar;
    must(problems.length === 0, `after ${minutesSoFar().toFixed(1)} minutes: ${problems[0]}`);
    const sample = {
      atMinutes: minutesSoFar(),
      rss: world.hub.rssBytes(),
      fds: world.hub.fdCount(),
      heap: await probeHeap(world, samples.length + 1),
    };
    samples.push(sample);
    process.stdout.write(
      `soak: ${sample.atMinutes.toFixed(1)} min, ${calls} calls, ${faults} faults, ` +
        `${Math.round(sample.rss / mib)} MiB, heap ${inMib(sample.heap.heapBytes)}, ` +
        `${sample.fds} files, ${sample.heap.handles} handles\n`,
    );
  }
  // The first ten minutes, or a third, are warm-up.
  const warmUpMinutes = Math.min(10, minutes / 3);
  const steady = samples.filter(({ atMinutes }) => atMinutes >= warmUpMinutes);
  const [first, last] = [steady[0], steady.at(-1)];
  if (first === undefined || last === undefined)
    return must(false, "it was too short for a sample");
  const steadyMinutes = last.atMinutes - first.atMinutes;
  const perMinute = (last.rss - first.rss) / mib / Math.max(steadyMinutes, 1);
  const isLong = steadyMinutes >= 3;
  world.figure(
    `soak of ${minutes} min, ${calls} calls, ${faults} faults: hub memory`,
    isLong ? "< 1 MiB/min" : "none: too short for a trend",
    `${inMib(first.rss)} → ${inMib(last.rss)}, ${perMinute.toFixed(2)} MiB/min`,
    !isLong || perMinute < 1,
  );
  const heaps = steady.map(({ heap }) => heap.heapBytes);
  // Of three each, since a collection comes at another moment of the load each time.
  const [before, after] = [median(heaps.slice(0, 3)), median(heaps.slice(-3))];
  const perHour = ((after - before) / mib / Math.max(steadyMinutes, 1)) * 60;
  const isAnHour = steadyMinutes >= 20;
  world.figure(
    "… its heap after a forced collection",
    isAnHour ? "≤ 4 MiB/h" : "none: too short for a trend",
    `${inMib(before)} → ${inMib(after)}, ${perHour.toFixed(1)} MiB/h`,
    !isAnHour || perHour <= 4,
  );
  const files = last.fds - first.fds;
  world.figure("… open files", "± 50", String(files), Math.abs(files) <= 50);
  const handles = last.heap.handles - first.heap.handles;
  world.figure("… open handles", "± 50", String(handles), Math.abs(handles) <= 50);
}

const probeFileOf = (world: World) => world.path("heap-probe.json");

async function probeHeap(world: World, number: number): Promise<HeapProbe> {
  const path = probeFileOf(world);
  const read = () =>
    existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as HeapProbe) : undefined;
  world.hub.signal("SIGUSR2");
  const probe = await until("the hub's heap", read, (value) => value?.number === number, 60_000);
  return probe!;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
}

function askBoth(world: World, wave: number): Promise<string[]> {
  return world.startAll(
    Array.from({ length: 20 }, (_, index) => ({
      tag: `soak-${wave}-${index}`,
      model: index % 2 === 0 ? "p1" : "p2",
      surface: index % 4 < 2 ? ("chat/completions" as const) : ("responses" as const),
      stream: index % 3 !== 0,
      behaviour: { kind: "normal", words: 120, chunkDelayMs: 25 } as const,
      ...(index % 5 === 0 ? { leaveAfterMs: 300 + 100 * index } : {}),
    })),
  );
}

type Proxy = Awaited<ReturnType<World["children"]["program"]>>;

async function faultOf(world: World, proxy: Proxy, kind: number): Promise<void> {
  const last = world.participants.at(-1);
  switch (kind) {
    case 0:
      await last?.kill();
      world.participants.push(await world.addParticipant("p1", world.provider.url));
      return;
    case 1:
      return freeze(last, 3_000);
    case 2:
      return freeze(world.provider.program, 2_000);
    case 3:
      await proxy.call("cutAll", "reset" as never);
      return;
    default:
      return freeze(world.hub, 2_000);
  }
}

async function freeze(
  child: { signal(signal: NodeJS.Signals): void } | undefined,
  ms: number,
): Promise<void> {
  child?.signal("SIGSTOP");
  await pauseMs(ms);
  child?.signal("SIGCONT");
}
