import type { ProxyHandlers } from "../../programs/proxy.ts";
import type { Scenario } from "../../scenario.ts";
import { cutUnderLoad, startAgents, startProvider } from "./cut-run.ts";

export const resumedAfterReset: Scenario = {
  id: "F26",
  title: "streams go on after their tunnel was reset, and no byte of them is lost or repeated",
  needs: ["proc"],
  isQuick: true,
  limitMs: 600_000,
  async run(world) {
    const agents = world.isQuick ? 2 : 5;
    await world.open({ participants: 0, hasLoad: false });
    const proxy = await world.children.program<ProxyHandlers>("proxy");
    const ports = await Promise.all(
      Array.from({ length: agents }, (_, seed) =>
        proxy.call("listen", { port: world.hub.port, seed }),
      ),
    );
    const provider = await startProvider(world, agents);
    const hubUrls = ports.map((port) => `http://127.0.0.1:${port}`);
    await cutUnderLoad(
      world,
      {
        ...{ id: "resets", agents, lanes: world.isQuick ? 6 : 10 },
        ...{ cuts: world.isQuick ? 6 : 40, alwaysResumes: true },
      },
      {
        provider,
        agents: await startAgents(world, provider, hubUrls),
        targets: ports.map((port, agent) => ({
          agents: [agent],
          gapMs: [0, 0] as const,
          cut: () => proxy.call("resetPort", port),
          mend: () => undefined,
        })),
      },
    );
  },
};
