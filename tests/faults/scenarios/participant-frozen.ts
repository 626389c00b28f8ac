import { until } from "../../support/waiting.ts";
import { inMib, mib, must, pauseMs, smallHeap, withoutResuming } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import type { World } from "../world.ts";
import { sharedNowMs } from "../shared-clock.ts";

const streams = 20;
const windowBytes = 128 * 1024;
/** What a tunnel may have unsent before it takes no further request. */
const unsentBytes = 4 * mib;
/** With semi-spaces of 4 MiB: between two collections the process is up to so much larger. */
const youngBytes = 12 * mib;

/** The collector returns to the same sizes within some seconds. */
const settlingMs = 15_000;

export const participantFrozen: Scenario = {
  id: "F3",
  title:
    "a frozen participant is noticed by its silence, costs bounded memory, and comes back by itself",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    // Quick: pings ten times as often, noticed ten times as soon.
    const scale = world.isQuick ? 0.1 : 1;
    await world.open({
      env: {
        ...smallHeap,
        ...withoutResuming,
        ...(world.isQuick ? { ROOMHUB_TUNNEL_PING_MS: "1000" } : {}),
      },
      hasLoad: !world.isQuick,
    });
    const tags = await world.startAll(
      Array.from({ length: streams }, (_, index) => ({
        tag: `frozen-${index}`,
        behaviour: { kind: "normal", words: 20_000, chunkDelayMs: 25 } as const,
      })),
    );
    await world.clients.call("reached", { tag: "frozen-0", pieces: 10 });
    // A hub that has just started still grows by itself: its largest size while the streams run is what counts.
    const beforeBytes = await largestBytes(world, world.isQuick ? 500 : settlingMs);
    const [participant] = world.participants;
    participant?.signal("SIGSTOP");
    const stoppedMs = sharedNowMs();
    let mostBytes = beforeBytes;
    const watching = setInterval(() => {
      mostBytes = Math.max(mostBytes, world.hub.rssBytes());
    }, 250);
    const outcomes = await world.outcomes(tags).finally(() => clearInterval(watching));
    for (const { tag, end, code } of outcomes) {
      must(end === "error" && code === "tunnel_lost", `${tag} ended ${end} ${code}`);
    }
    const noticedMs = Math.max(...outcomes.map(({ endedMs }) => endedMs)) - stoppedMs;
    const limitMs = 30_000 * scale + (world.isQuick ? 1_000 : 0);
    world.figure(
      `a half-open participant is noticed${world.isQuick ? " (pings each second)" : ""}`,
      `≤ ${limitMs / 1_000} s`,
      `${(noticedMs / 1_000).toFixed(1)} s`,
      noticedMs <= limitMs,
    );
    const grownBytes = mostBytes - beforeBytes;
    const boundBytes = streams * windowBytes + unsentBytes + youngBytes;
    world.figure(
      `… hub memory meanwhile, ${streams} streams`,
      ...([`≤ ${inMib(boundBytes)}`, inMib(grownBytes), grownBytes <= boundBytes] as const),
    );
    await until(
      "p1 to be disconnected in the listing",
      () => world.listed("p1"),
      ({ connection }) => !connection.connected,
    );
    participant?.signal("SIGCONT");
    const continuedMs = sharedNowMs();
    await until(
      "p1 to be back",
      () => world.listed("p1"),
      ({ connection, status }) => connection.connected && status === "online",
    );
    const backMs = sharedNowMs() - continuedMs;
    world.figure("… back after it wakes", "≤ 2 s", `${Math.round(backMs)} ms`, backMs <= 2_000);
    const again = await world.outcome(await world.start({ tag: "again" }));
    must(again.end === "complete", `after waking, a request ended ${again.end} ${again.code}`);
  },
};

async function largestBytes(world: World, withinMs: number): Promise<number> {
  let bytes = world.hub.rssBytes();
  for (let waitedMs = 0; waitedMs < withinMs; waitedMs += 250) {
    await pauseMs(250);
    bytes = Math.max(bytes, world.hub.rssBytes());
  }
  return bytes;
}
