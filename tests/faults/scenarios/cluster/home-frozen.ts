import type { RecordedEvent } from "../../../support/hub/event-recorder.ts";
import { AgentTunnels } from "../../cluster/agent-tunnels.ts";
import { Cluster } from "../../cluster/cluster.ts";
import type { ClusterHub } from "../../cluster/cluster-hub.ts";
import { recordFailures } from "../../cluster/outage.ts";
import { RoomHome } from "../../cluster/room-home.ts";
import type { CallOutcome } from "../../client-call.ts";
import { inMs, must, pauseMs } from "../../figure.ts";
import type { Scenario } from "../../scenario.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import { clusterNeeds } from "./cluster-needs.ts";

/** Does not end by itself while the home is frozen. */
const talk = { kind: "normal", words: 8_000, chunkDelayMs: 25 } as const;
/** Longer than a beat: the home looks at the directory before it serves anything. */
const suspendedMs = 6_000;
/** A signal takes effect a moment later. */
const stoppedMs = 250;

/** When the home thaws: while it still is the home, at the moment in which it is replaced, and long after it. */
type Thaw = "before" | "at" | "after";

/** Times are on the shared clock. */
interface Freeze {
  /** where its own clients are */
  baseUrl: string;
  frozenMs: number;
  /** undefined: it thawed before */
  replacedMs: number | undefined;
  thawedMs: number;
  /** of the first response by the home after it */
  servedMs: number;
  /** what the room's events were called until then: each home that was not handed the room has a name of its own */
  names: ReadonlySet<string>;
}

export const clusterHomeFrozen: Scenario = {
  id: "C9",
  title:
    "a home that was frozen, replaced and thawed fails no request but those that ran at it, each with one end; its agents have one tunnel, and nothing begins at it afterwards",
  needs: [...clusterNeeds, "proc"],
  isQuick: false,
  limitMs: 900_000,
  async run(world) {
    const cluster = await Cluster.open(world);
    await using home = await RoomHome.watch(cluster);
    const agents = [...cluster.participants.keys()].map((id) => cluster.network.machine(id));
    await using tunnels = new AgentTunnels(agents);
    await cluster.startLoad(world.isQuick ? 1 : 3);
    cluster.eventsMayMiss();
    const thaws: Thaw[] = world.isQuick ? ["at"] : ["before", "at", "after", "at", "after"];
    const freezes: Freeze[] = [];
    for (const [round, thaw] of thaws.entries()) {
      freezes.push(await freezeOnce(cluster, home, thaw, round));
    }
    const load = await cluster.stopLoad();
    recordFailures(
      world,
      `home frozen ${thaws.length} times under load`,
      load,
      freezes.map(({ baseUrl, frozenMs, replacedMs, thawedMs }) => ({
        ...{ baseUrl, fromMs: frozenMs, ownUntilMs: frozenMs },
        othersUntilMs: replacedMs ?? thawedMs,
      })),
    );
    const servedMs = Math.max(...freezes.map((one) => one.servedMs - one.frozenMs));
    world.figure(
      "… next response of its room, longest",
      ...(["≤ 20 s", inMs(servedMs), servedMs <= 20_000] as const),
    );
    home.mustHaveRisen();
    for (const freeze of freezes) mustHaveBegunNothing(cluster, freeze, load);
    const overlaps = tunnels.overlaps();
    must(tunnels.count > agents.length, `only ${tunnels.count} tunnels were seen`);
    must(overlaps.length === 0, overlaps.join("; "));
    await cluster.serveEverywhere("after");
  },
};

async function freezeOnce(
  cluster: Cluster,
  home: RoomHome,
  thaw: Thaw,
  round: number,
): Promise<Freeze> {
  const before = home.tenure;
  const frozen = before.hub;
  const other = cluster.hubs.find((hub) => hub !== frozen) ?? frozen;
  const running = await cluster.startAll([
    { tag: `piped-${round}`, hub: other, model: "p1", behaviour: talk },
    { tag: `own-${round}`, hub: frozen, model: "p2", behaviour: talk },
    {
      ...{ tag: `hung-${round}`, hub: other, model: "p3", stream: false },
      behaviour: { kind: "hang" },
    },
  ]);
  await cluster.generating(running);
  const names = new Set(requestsOf(cluster).map(({ id }) => nameOf(id)));
  frozen.process.signal("SIGSTOP");
  const frozenMs = sharedNowMs();
  let replacedMs: number | undefined;
  let served: number | undefined;
  if (thaw === "before") await pauseMs(suspendedMs);
  else replacedMs = (await home.after(before)).sinceMs;
  if (thaw === "after") {
    served = await servedMs(cluster, other, round);
    await pauseMs(suspendedMs);
  }
  frozen.process.signal("SIGCONT");
  const thawedMs = sharedNowMs();
  // What its own client has there may go on, over the tunnel that the agent had.
  const own = `own-${round}`;
  await cluster.clients.call("leave", own);
  served ??= await servedMs(cluster, other, round);
  // What runs at a home that was not replaced goes on.
  if (thaw === "before") for (const tag of running) await cluster.clients.call("leave", tag);
  const ran = await cluster.outcomes(running);
  for (const { tag, end, code } of ran) {
    const goesOn = thaw === "before" || (tag === own && end !== "error");
    must(end === (goesOn ? "left" : "error"), `${tag} ended ${end} ${code}`);
  }
  // A client that leaves before its response has no id to find it by.
  const known = ran.filter(({ requestId }) => requestId !== undefined);
  await cluster.ended(known, "logs");
  await cluster.agreed(60_000);
  const baseUrl = cluster.baseUrl(frozen);
  return { baseUrl, frozenMs, replacedMs, thawedMs, servedMs: served, names };
}

async function servedMs(cluster: Cluster, hub: ClusterHub, round: number): Promise<number> {
  const { tag, end, code, endedMs } = await cluster.ask({ tag: `next-${round}`, hub, model: "*" });
  must(end === "complete", `${tag} ended ${end} ${code}`);
  return endedMs;
}

/** What the home had taken when it stood still may begin and end there in the moment in which it thaws. */
function mustHaveBegunNothing(
  cluster: Cluster,
  { names, frozenMs, replacedMs }: Freeze,
  load: readonly CallOutcome[],
): void {
  if (replacedMs === undefined) return;
  const frozenAt = Date.now() - sharedNowMs() + frozenMs + stoppedMs;
  const taken = new Set(
    load.filter(({ askedMs }) => askedMs < frozenMs).map(({ requestId }) => requestId),
  );
  const late = requestsOf(cluster).filter(({ id, data }) => {
    const isLate = names.has(nameOf(id)) && Date.parse(data.timestamp) > frozenAt;
    return isLate && !taken.has(String(data["requestId"]));
  });
  must(late.length === 0, `after it was replaced, the home began ${late.length} requests`);
}

function requestsOf({ hubs }: Cluster): RecordedEvent[] {
  return hubs.flatMap(({ runs }) => runs.flatMap(({ events }) => events.of("llm.request")));
}

function nameOf(id = ""): string {
  return id.slice(0, id.lastIndexOf("-"));
}
