import { until } from "../../support/waiting.ts";
import type { ProxyHandlers, ProxyWish } from "../programs/proxy.ts";
import { inMs, must, mustComplete, withoutResuming } from "../figure.ts";
import type { Scenario } from "../scenario.ts";
import { sharedNowMs } from "../shared-clock.ts";
import type { World } from "../world.ts";

const talk = { kind: "normal", words: 40, chunkDelayMs: 5 } as const;
/** Does not end by itself before the fault. */
const longTalk = { kind: "normal", words: 4_000, chunkDelayMs: 5 } as const;

export const cutBytes: Scenario = {
  id: "bytes",
  title: "bytes that arrive in tiny pieces on both sides of the hub change nothing",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    await world.open({ participants: 0, hasLoad: false });
    const near = await proxyTo(world, { seed: 11, pieceBytes: 7 });
    const far = await proxyTo(world, { seed: 12, pieceBytes: 5 });
    await world.addParticipant("p1", world.provider.url, { hubUrl: far.url });
    const outcomes = await world.outcomes(
      await askThrough(world, near.url, "crumbs", world.isQuick ? 8 : 20),
    );
    mustComplete(outcomes);
  },
};

export const cutConnections: Scenario = {
  id: "cuts",
  title:
    "connections cut after any byte, on both sides of the hub, end every request once and truthfully",
  needs: ["proc"],
  isQuick: false,
  async run(world) {
    world.connectionsMayBreak();
    await world.open({ participants: 0 });
    const near = await proxyTo(world, { seed: 21, cutAfterBytes: 12_000 });
    const far = await proxyTo(world, { seed: 22, cutAfterBytes: 120_000 });
    await world.addParticipant("p1", world.provider.url, { hubUrl: far.url });
    const ends = new Map<string, number>();
    for (let round = 0; round < 8; round++) {
      await connected(world);
      for (const { end } of await world.outcomes(
        await askThrough(world, near.url, `cut-${round}`, 20),
      )) {
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
    }
    const { cuts } = await far.program.call("seen");
    must(cuts > 0, "no tunnel was ever cut");
    must((ends.get("cut") ?? 0) > 0, "no client was ever cut");
    const told = [...ends].map(([end, count]) => `${count} ${end}`).join(", ");
    world.fact(`160 calls, ${cuts} cuts of the tunnel`, "each ends once", told, true);
    await connected(world);
  },
};

export const tunnelReset: Scenario = {
  id: "F7",
  title: "a reset of the tunnel is an error at once, and the participant is back at once",
  needs: ["proc"],
  isQuick: true,
  async run(world) {
    await world.open({ participants: 0, hasLoad: false, env: withoutResuming });
    const proxy = await proxyTo(world, { seed: 31 });
    await world.addParticipant("p1", world.provider.url, { hubUrl: proxy.url });
    const tags = await askThrough(world, world.hub.url, "reset", 10, longTalk);
    await Promise.all(tags.map((tag) => world.clients.call("reached", { tag, pieces: 5 })));
    const resetMs = sharedNowMs();
    await proxy.program.call("cutAll", "reset");
    const outcomes = await world.outcomes(tags);
    const toldMs = Math.max(...outcomes.map(({ endedMs }) => endedMs)) - resetMs;
    for (const { tag, code } of outcomes) must(code === "tunnel_lost", `${tag} got ${code}`);
    await connected(world);
    const backMs = sharedNowMs() - resetMs;
    world.figure("tunnel reset: clients' errors", "≤ 200 ms", inMs(toldMs), toldMs <= 200);
    world.figure("… participant back", "≤ 2 s", inMs(backMs), backMs <= 2_000);
  },
};

async function connected(world: World): Promise<void> {
  await until(
    "p1 to be back",
    () => world.listed("p1"),
    ({ connection }) => connection.connected,
    20_000,
  );
}

async function proxyTo(world: World, wish: Omit<ProxyWish, "port">) {
  const program = await world.children.program<ProxyHandlers>("proxy");
  const port = await program.call("listen", { port: world.hub.port, ...wish });
  return { program, url: `http://127.0.0.1:${port}` };
}

function askThrough(
  world: World,
  hubUrl: string,
  name: string,
  count: number,
  behaviour: typeof talk | typeof longTalk = talk,
): Promise<string[]> {
  return world.startAll(
    Array.from({ length: count }, (_, index) => ({
      tag: `${name}-${index}`,
      baseUrl: `${hubUrl}/rooms/${world.code}/v1`,
      surface: index % 2 === 0 ? ("chat/completions" as const) : ("responses" as const),
      behaviour,
    })),
  );
}
