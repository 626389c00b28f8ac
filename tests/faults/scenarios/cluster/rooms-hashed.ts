import { readGuides } from "../../../support/documents/guide.ts";
import { startBalancer } from "../../cluster/balancer.ts";
import { Cluster } from "../../cluster/cluster.ts";
import { hubPort } from "../../cluster/cluster-hub.ts";
import { must, pauseMs } from "../../figure.ts";
import type { ParticipantHandlers } from "../../programs/participants.ts";
import type { ProviderHandlers } from "../../programs/provider.ts";
import type { Scenario } from "../../scenario.ts";
import type { World } from "../../world.ts";
import { clusterNeeds } from "./cluster-needs.ts";

const rooms = 40;
const minuteMs = 60_000;
/** What hubs say to each other beside requests is shorter, and the head of a request is not. */
const requestBytes = 256;

export const clusterRoomsHashed: Scenario = {
  id: "C10",
  title:
    "of 40 rooms behind a balancer that hashes their codes no request is piped after the first minute",
  needs: [...clusterNeeds, "haproxy"],
  isQuick: false,
  async run(world) {
    const cluster = await Cluster.open(world, {
      ...{ participants: 0, machines: ["balancer", "agents"] },
    });
    const counts = cluster.hubs.map(({ name }) =>
      cluster.network.countSent(name, hubPort, requestBytes),
    );
    const piped = () => counts.reduce((sum, count) => sum + count(), 0);
    const { url } = await startBalancer(world, cluster, asTheGuideSays);
    const codes = await openRooms(url);
    await joinAll(world, cluster, url, codes);
    const load = { model: "fake-model", perSecond: 0.5, words: 10, chunkDelayMs: 20 };
    for (const code of codes) {
      const baseUrl = `${url}/rooms/${code}/v1`;
      await cluster.clients.call("startLoad", { ...load, baseUrl });
    }
    await pauseMs(minuteMs);
    const first = piped();
    await pauseMs(minuteMs);
    const second = piped() - first;
    const outcomes = await cluster.clients.call("stopLoads");
    const failed = outcomes.find(({ end }) => end !== "complete");
    must(failed === undefined, `${failed?.tag} ended ${failed?.end} ${failed?.code}`);
    world.fact(
      `40 rooms behind a balancer that hashes, ${outcomes.length} requests in two minutes: packets of piped ones in the second`,
      ...(["0", `${second} (in the first ${first})`, second === 0] as const),
    );
    const homes = await Promise.all(cluster.hubs.map(({ api }) => api.listHubs()));
    const here = homes.map(([own]) => own?.participants ?? 0);
    must(
      here.every((count) => count > 0),
      `the hubs have ${here.join(", ")} of the rooms`,
    );
    await mustCount(cluster, codes[0] ?? "", piped);
  },
};

/** The guide's own lines, with the hubs of this cluster. */
function asTheGuideSays(bind: string, hubs: readonly string[]): string {
  const guide = readGuides().find(({ path }) => path === "docs/guides/cluster-balancer.md");
  const block = guide?.blocks.find(({ text }) => text.startsWith("# /etc/haproxy/haproxy.cfg"));
  const bound = (block?.text ?? "").replace(/bind .*/, `bind ${bind}`);
  return hubs.reduce((text, host, n) => text.replace(`10.0.0.1${n + 1}:5050`, host), bound);
}

/** @returns their codes */
async function openRooms(url: string): Promise<string[]> {
  const codes: string[] = [];
  for (let number = 0; number < rooms; number++) {
    const response = await fetch(`${url}/rooms`, {
      ...{ method: "POST", headers: { "content-type": "application/json" } },
      body: JSON.stringify({ name: `room ${number}` }),
    });
    const { room } = (await response.json()) as { room: { code: string } };
    codes.push(room.code);
  }
  return codes;
}

/** A participant in each room, through the balancer. */
async function joinAll(
  world: World,
  { network }: Cluster,
  hubUrl: string,
  codes: readonly string[],
): Promise<void> {
  const { prefix } = network.machine("agents");
  const provider = await world.children.program<ProviderHandlers>("provider", [], prefix);
  const { url: endpoint } = await provider.call("about");
  const crowd = await world.children.program<ParticipantHandlers>("participants", [], prefix);
  for (const room of codes) {
    await crowd.call("join", {
      hubUrl,
      room,
      endpoint,
      count: 1,
      prefix: "p",
      model: "fake-model",
    });
  }
}

/** What two of three hubs pipe is seen. */
async function mustCount(cluster: Cluster, code: string, piped: () => number): Promise<void> {
  const before = piped();
  for (const hub of cluster.hubs) {
    const response = await fetch(`${hub.url}/rooms/${code}/v1/models`);
    must(response.ok, `${hub.name} responded with ${response.status}`);
    await response.text();
  }
  const seen = piped() - before;
  must(seen >= 2, `${seen} of 2 requests that were piped were counted`);
}
