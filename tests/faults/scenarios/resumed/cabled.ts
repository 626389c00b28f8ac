import type { RoomhubChild } from "../../child.ts";
import type { Scenario } from "../../scenario.ts";
import type { World } from "../../world.ts";
import { createCabledMachine } from "./cables.ts";
import { cutUnderLoad, startAgents, startProvider, type Target } from "./cut-run.ts";
import type { CutPlan } from "./evidence.ts";

type Failing = Omit<Target, "agents">;
type Cable = ReturnType<typeof createCabledMachine>["cables"][number];

export const resumedAfterSilence: Scenario = {
  id: "F27",
  title: "streams go on after a time in which every packet disappeared, in both directions",
  needs: ["root", "ip", "iptables", "proc"],
  isQuick: true,
  limitMs: 600_000,
  run: (world) =>
    throughCables(
      world,
      // TCP bridges a short one by itself.
      { id: "silence", cuts: world.isQuick ? 4 : 40, alwaysResumes: false },
      ({ cut, mend }) => ({ cut, mend, gapMs: [1_000, world.isQuick ? 3_000 : 25_000] }),
    ),
};

export const resumedAtNewAddress: Scenario = {
  id: "F29",
  title:
    "streams go on when the agent's machine has another address, while its old socket looks alive",
  needs: ["root", "ip", "proc"],
  isQuick: true,
  limitMs: 600_000,
  run: (world) =>
    throughCables(
      world,
      { id: "addresses", cuts: world.isQuick ? 4 : 40, alwaysResumes: true },
      (cable, agent, index) => (index % 2 === 0 ? moved(cable) : asleep(cable, agent, world)),
    ),
};

function moved({ readdress }: Cable): Failing {
  return { cut: readdress, mend: () => undefined, gapMs: [0, 0] };
}

/** A laptop whose lid is closed, and opened in another network. */
function asleep({ readdress }: Cable, agent: RoomhubChild, { isQuick }: World): Failing {
  return {
    cut() {
      agent.signal("SIGSTOP");
      readdress();
    },
    mend: () => agent.signal("SIGCONT"),
    gapMs: [1_000, isQuick ? 2_000 : 20_000],
  };
}

/** Agents and their provider on a machine of their own, each agent with a cable of its own. */
async function throughCables(
  world: World,
  plan: Omit<CutPlan, "agents" | "lanes">,
  failing: (cable: Cable, agent: RoomhubChild, index: number) => Failing,
): Promise<void> {
  const count = world.isQuick ? 2 : 5;
  const machine = createCabledMachine(world.children, plan.id === "silence" ? 0 : 1, count);
  try {
    await world.open({ participants: 0, hasLoad: false, args: ["--host", "0.0.0.0"] });
    const { cables, prefix } = machine;
    const provider = await startProvider(world, count, prefix);
    const hubUrls = cables.map(({ hostAddress }) => `http://${hostAddress}:${world.hub.port}`);
    const agents = await startAgents(world, provider, hubUrls, prefix);
    const targets = agents.flatMap((agent, index) => {
      const cable = cables[index];
      return cable === undefined ? [] : [{ agents: [index], ...failing(cable, agent, index) }];
    });
    await cutUnderLoad(
      world,
      { ...plan, agents: count, lanes: world.isQuick ? 6 : 10 },
      { provider, agents, targets },
    );
  } finally {
    machine.remove();
  }
}
