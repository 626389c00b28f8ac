import { until } from "../../support/waiting.ts";
import { inMib, kib, mib, must, pauseMs } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import type { World } from "../world.ts";

const floodBytes = 1_024 * mib;
const paths = ["tunnel", "direct"] as const;

export const pausedReader: Scenario = {
  id: "F13",
  title:
    "a client that stops reading a huge response stops the provider, not the hub, and is disconnected in time",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    world.connectionsMayBreak();
    // Short enough to be seen, long enough to be measured before.
    const stallMs = world.isQuick ? 2_000 : 6_000;
    await world.open({
      env: { ROOMHUB_CLIENT_STALL_MS: String(stallMs) },
      ...{ participants: 0, hasLoad: false },
    });
    await world.addParticipant("flood-tunnel", world.provider.plainUrl);
    await world.api.join(world.code, {
      ...{
        id: "flood-direct",
        nickname: "flood",
        model: "flood",
        endpoint: world.provider.plainUrl,
      },
    });
    // One after the other the memory of each can be measured; together they take half the time.
    if (world.isQuick) await Promise.all(paths.map((path) => measure(world, path, stallMs)));
    else for (const path of paths) await measure(world, path, stallMs);
  },
};

async function measure(world: World, path: (typeof paths)[number], stallMs: number): Promise<void> {
  const model = `flood-${path}`;
  // What a hub needs to relay any large response is not counted for the paused one.
  const pourBytes = (world.isQuick ? 8 : 32) * mib;
  const warming = { tag: `warm-${path}`, model, plain: { pourBytes } };
  const warm = await world.outcome(await world.start(warming));
  must(warm.end === "complete", `the warm-up ended ${warm.end} ${warm.code}`);
  await pauseMs(world.isQuick ? 0 : 500);
  const beforeBytes = world.hub.rssBytes();
  const tag = await world.start({
    ...{ tag: `paused-${path}`, model, plain: { pourBytes: floodBytes } },
    stallAfterBytes: 64 * kib,
  });
  let mostBytes = 0;
  for (let look = 0; look < 16; look++) {
    await pauseMs(stallMs / 24);
    mostBytes = Math.max(mostBytes, world.hub.rssBytes());
  }
  const grownBytes = mostBytes - beforeBytes;
  const sentBytes = await world.provider.program.call("poured");
  must(sentBytes < 64 * mib, `the provider was let send ${inMib(sentBytes)}`);
  world.figure(
    `1 GB to a paused reader, ${path}: hub memory`,
    "≤ 8 MiB",
    `${inMib(grownBytes)} (provider let go of ${inMib(sentBytes)})`,
    grownBytes <= 8 * mib,
  );
  const { data } = await stalledEvent(world, model);
  must(data["stage"] === "client", `the stalled client's stage is ${String(data["stage"])}`);
  await world.outcome(tag);
}

/** A client that reads nothing does not notice the end; the events report it. */
async function stalledEvent(world: World, participantId: string) {
  const find = () =>
    world.events
      .of("llm.error")
      .find(
        ({ data }) => data["participantId"] === participantId && data["code"] === "client_stalled",
      );
  const found = await until("client_stalled", find, (event) => event !== undefined, 15_000);
  await world.clients.call("goOn", `paused-${participantId.slice("flood-".length)}`);
  return found ?? find()!;
}
