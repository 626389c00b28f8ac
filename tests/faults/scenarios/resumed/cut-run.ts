import { until } from "../../../support/waiting.ts";
import type { Program, RoomhubChild } from "../../child.ts";
import { must, pauseMs } from "../../figure.ts";
import type { HashedProviderHandlers } from "../../programs/hashed-provider.ts";
import { createRandom } from "../../seeded-random.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import type { World } from "../../world.ts";
import { type Cut, type CutPlan, lastEvents, mustBeWhole } from "./evidence.ts";
import { filesAllowed, type OpenFiles, recordLeftovers, recordPauses } from "./figures.ts";
import { Lanes, modelOf } from "./lanes.ts";

/** Something between hub and agents that can be taken away and given back. */
export interface Target {
  /** which agents are behind it */
  agents: readonly number[];
  /** how long a cut lasts, at least and at most */
  gapMs: readonly [number, number];
  cut(): unknown;
  /** Resolves when the network is there again. */
  mend(): unknown;
}

export type Provider = Program<HashedProviderHandlers>;

/** The agents' provider, which lists the models of all of them. */
export function startProvider(
  world: World,
  agents: number,
  prefix: readonly string[] = [],
): Promise<Provider> {
  const models = Array.from({ length: agents }, (_, agent) => modelOf(agent)).join(",");
  return world.children.program<HashedProviderHandlers>("hashed-provider", [models], prefix);
}

/** `roomhub join` for each hub URL, connected. */
export async function startAgents(
  world: World,
  provider: Provider,
  hubUrls: readonly string[],
  prefix: readonly string[] = [],
): Promise<RoomhubChild[]> {
  const endpoint = await provider.call("url");
  return Promise.all(
    hubUrls.map((hubUrl, agent) =>
      world.addParticipant(`a${agent}`, endpoint, { hubUrl, prefix, model: modelOf(agent) }),
    ),
  );
}

/** Cuts at random moments while calls of all kinds run, and compares every byte afterwards. */
export async function cutUnderLoad(
  world: World,
  plan: CutPlan,
  parts: { provider: Provider; agents: readonly RoomhubChild[]; targets: readonly Target[] },
): Promise<void> {
  const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);
  process.stdout.write(`${plan.id}: FAULTS_SEED=${seed}\n`);
  const lanes = new Lanes(world, createRandom(seed));
  const before = counted(world, parts.agents);
  const cuts: Cut[] = [];
  const rss: number[] = [];
  // What a hub grows by under any load is not counted for the cuts.
  const rounds = world.isQuick ? 1 : 2;
  for (let round = 0; round < rounds; round++) {
    lanes.start(plan.agents, plan.lanes);
    await pauseMs(1_000);
    const each = Math.ceil(plan.cuts / rounds / parts.targets.length);
    const cutting = parts.targets.map((target, index) =>
      cutOften(target, each, lanes, createRandom(seed + round * 100 + index + 1)),
    );
    cuts.push(...(await Promise.all(cutting)).flat());
    await pauseMs(1_000);
    await lanes.stop();
    await quiet(world, parts.provider);
    rss.push(world.hub.rssBytes());
  }
  const after = await settled(world, parts.agents, before);
  const generations = await parts.provider.call("generations");
  const evidence = { plan, seed, cuts, calls: lanes.calls, generations };
  await lastEvents(world, lanes.calls);
  const { resumed } = mustBeWhole(world, evidence);
  recordPauses(world, evidence, resumed);
  recordLeftovers(world, before, after, rss);
}

async function cutOften(
  target: Target,
  count: number,
  lanes: Lanes,
  random: () => number,
): Promise<Cut[]> {
  const cuts: Cut[] = [];
  const [shortest, longest] = target.gapMs;
  let togetherMs = 0;
  for (let number = 0; number < count; number++) {
    // Now and then in the middle of what the last one left to do.
    const isAtOnce = random() < 0.2;
    await pauseMs(isAtOnce ? random() * 100 : 1_000 + random() * 4_000);
    // Cuts with no time between them to connect are one for the hub, which waits no longer than for one.
    togetherMs = isAtOnce ? togetherMs : 0;
    const longestMs = Math.max(shortest, longest - togetherMs);
    // More short ones than long ones.
    const gapMs = shortest + random() ** 2 * (longestMs - shortest);
    togetherMs += gapMs;
    const cut: Cut = { agents: target.agents, cutMs: sharedNowMs(), mendedMs: 0, left: [] };
    cuts.push(cut);
    await target.cut();
    const leavesAfterMs = random() * gapMs;
    await pauseMs(leavesAfterMs);
    if (random() < 0.7) {
      const tag = await lanes.leaveOne(target.agents[0] ?? 0);
      if (tag !== undefined) cut.left.push(tag);
    }
    await pauseMs(gapMs - leavesAfterMs);
    await target.mend();
    cut.mendedMs = sharedNowMs();
  }
  return cuts;
}

function counted(world: World, agents: readonly RoomhubChild[]): OpenFiles {
  return {
    hub: world.hub.fdCount(),
    ...Object.fromEntries(agents.map((agent, index) => [`agent ${index}`, agent.fdCount()])),
  };
}

/** Sockets that one side has closed are noticed by the other a moment later. */
async function settled(
  world: World,
  agents: readonly RoomhubChild[],
  before: OpenFiles,
): Promise<OpenFiles> {
  const isBack = (now: OpenFiles) =>
    Object.entries(now).every(([name, files]) => files <= (before[name] ?? 0) + filesAllowed);
  const count = () => counted(world, agents);
  // What is still open then is reported with the figures.
  return until("files to be closed", count, isBack, 60_000).catch(count);
}

async function quiet(world: World, provider: Provider): Promise<void> {
  await until(
    "no load to be left",
    () => world.api.listParticipants(world.code),
    (all) => all.every(({ load }) => load.active === 0 && load.queued === 0),
    45_000,
  );
  const open = await until(
    "every generation to end",
    () => provider.call("open"),
    ({ generations }) => generations === 0,
    45_000,
  );
  must(open.generations === 0, `${open.generations} generations are left`);
}
