import { until } from "../../../support/waiting.ts";
import { Cluster } from "../../cluster/cluster.ts";
import { inMs, must, pauseMs } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import { clusterNeeds } from "./cluster-needs.ts";

export const clusterNatsAway: Scenario = {
  id: "C3",
  title:
    "without NATS everything connected goes on, and hubs say that they are degraded; soon after it is back they agree",
  needs: clusterNeeds,
  isQuick: true,
  async run(world) {
    const cluster = await Cluster.open(world, { participants: 4, machines: ["late"] });
    const [one, two] = cluster.hubs;
    const hubs = cluster.hubs;
    await using followers = await cluster.follow();
    cluster.eventsMayMiss();
    await cluster.startLoad(world.isQuick ? 2 : 5);
    await cluster.nats.kill();
    const awayMs = sharedNowMs();
    await Promise.all(
      hubs.map((hub) =>
        until(
          "the hub to notice",
          () => hub.health(),
          (is) => is === "degraded",
        ),
      ),
    );
    const noticedMs = sharedNowMs() - awayMs;
    world.figure("NATS gone: /health says degraded", "≤ 1 s", inMs(noticedMs), noticedMs <= 1_000);
    const refused = await two.api.createRoom({ name: "new" }).catch((error: unknown) => error);
    must(isUnavailable(refused), `a new room was ${JSON.stringify(refused)}`);
    // Leaves meanwhile, and one that comes: both are known everywhere afterwards.
    await cluster.participants.get("p4")?.kill("SIGTERM");
    const late = cluster.addParticipant("late", cluster.network.machine("late"), two, 90_000);
    await pauseMs(world.isQuick ? 4_000 : 30_000);
    for (const hub of hubs) {
      for (const other of hubs) {
        const { link } = (await hub.seen(other)) ?? {};
        must(link !== "down" && link !== undefined, `${hub.name} has no link to ${other.name}`);
      }
    }
    const meanwhile = await cluster.stopLoad();
    const failed = meanwhile.filter(({ end }) => end !== "complete");
    world.fact(
      `… requests meanwhile that failed, of ${meanwhile.length}`,
      ...(["0", String(failed.length), failed.length === 0] as const),
    );
    must(failed.length === 0, `${failed[0]?.tag} ended ${failed[0]?.end} ${failed[0]?.code}`);
    await cluster.nats.start();
    const backMs = sharedNowMs();
    await Promise.all(
      hubs.map((hub) =>
        until(
          "the hub to be back",
          () => hub.health(),
          (is) => is === "ok",
        ),
      ),
    );
    const { room } = await one.api.createRoom({ name: "new" });
    await Promise.all(hubs.map(({ api }) => api.getRoom(room.code)));
    await cluster.agreed();
    const rightMs = sharedNowMs() - backMs;
    world.figure("… all right after it is back", "≤ 5 s", inMs(rightMs), rightMs <= 5_000);
    await late;
    await until(
      "p4 to be gone",
      () => cluster.listed(two, "p4"),
      (p4) => p4 === undefined,
    );
    await followers.agreed();
    await cluster.serveEverywhere("after", ["p1", "p2", "p3", "late"]);
  },
};

function isUnavailable(error: unknown): boolean {
  return (error as { code?: string }).code === "cluster_unavailable";
}
