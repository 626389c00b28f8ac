import { until } from "../../support/waiting.ts";
import type { ParticipantHandlers } from "../programs/participants.ts";
import type { ProxyHandlers } from "../programs/proxy.ts";
import { inMs, must, pauseMs, percentile } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";

export const thunderingReconnect: Scenario = {
  id: "F18",
  title:
    "a thousand participants that lose their tunnels at once are all back soon, and the hub responds meanwhile",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    const count = 1_000;
    await world.open({ hasLoad: false });
    const proxy = await world.children.program<ProxyHandlers>("proxy");
    const port = await proxy.call("listen", { port: world.hub.port, seed: 1 });
    const crowd = await world.children.program<ParticipantHandlers>("participants");
    await crowd.call("join", {
      ...{ hubUrl: `http://127.0.0.1:${port}`, room: world.code, endpoint: world.provider.url },
      ...{ count, prefix: "crowd" },
    });
    const connected = async () =>
      (await world.api.listParticipants(world.code)).filter(
        ({ connection, status }) => connection.path === "tunnel" && status === "online",
      ).length;
    await until("all participants to be connected", connected, (seen) => seen === count + 1);
    await pauseMs(1_000);
    const eventsBefore = world.events.of("participant.joined").length;
    const hubCpuMs = world.hub.cpuMs();
    await world.clients.call("startHealth", { url: world.hub.url, everyMs: 20 });
    const cutMs = sharedNowMs();
    await proxy.call("cutAll", "reset");
    // Read from the agents, not from the hub: a list of a thousand, again and again, would be the load that is measured.
    await pauseMs(100);
    await until(
      "everybody to be back",
      () => crowd.call("connected"),
      (back) => back === count,
      60_000,
    );
    const backMs = sharedNowMs() - cutMs;
    const healthMs = percentile(await world.clients.call("stopHealth"), 0.99);
    const routable = await connected();
    must(routable === count + 1, `only ${routable} are routable`);
    const usedMs = world.hub.cpuMs() - hubCpuMs;
    world.figure(
      `${count} participants reconnecting at once: all routable`,
      "≤ 20 s",
      `${(backMs / 1_000).toFixed(1)} s (hub CPU ${(usedMs / 1_000).toFixed(1)} s)`,
      backMs <= 20_000,
    );
    world.figure("… /health meanwhile, p99", "≤ 100 ms", inMs(healthMs), healthMs <= 100);
    const joined = world.events.of("participant.joined").length - eventsBefore;
    must(joined === 0, `${joined} participants were announced as new`);
    must(world.events.of("participant.offline").length === 0, "somebody was declared offline");
    const after = await world.outcome(await world.start({ tag: "after", model: "crowd999" }));
    must(after.end === "complete", `afterwards a request ended ${after.end} ${after.code}`);
    await crowd.call("leave");
  },
};
