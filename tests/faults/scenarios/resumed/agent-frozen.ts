import type { Scenario } from "../../scenario.ts";
import { cutUnderLoad, startAgents, startProvider } from "./cut-run.ts";

export const resumedAfterFreeze: Scenario = {
  id: "F30",
  title: "streams of an agent that was frozen go on when it thaws, and nothing of them is missing",
  needs: ["proc"],
  isQuick: true,
  limitMs: 600_000,
  async run(world) {
    const agents = world.isQuick ? 2 : 5;
    await world.open({ participants: 0, hasLoad: false });
    const provider = await startProvider(world, agents);
    const hubUrls = Array.from({ length: agents }, () => world.hub.url);
    const children = await startAgents(world, provider, hubUrls);
    await cutUnderLoad(
      world,
      {
        ...{ id: "freezes", agents, lanes: world.isQuick ? 6 : 10 },
        cuts: world.isQuick ? 4 : 40,
        // A short one is over before anybody misses the agent.
        alwaysResumes: false,
      },
      {
        provider,
        agents: children,
        targets: children.map((child, agent) => ({
          agents: [agent],
          gapMs: [1_000, world.isQuick ? 3_000 : 25_000] as const,
          cut: () => child.signal("SIGSTOP"),
          mend: () => child.signal("SIGCONT"),
        })),
      },
    );
  },
};
