import { existsSync } from "node:fs";
import { get } from "node:http";
import { fileURLToPath } from "node:url";
import { freePort } from "../../peers/peer.ts";
import { settledRssBytes } from "../../figures/memory.ts";
import { measured, type Row } from "../../row.ts";
import { median } from "../../figures/spread.ts";
import type { BenchWorld } from "../../processes/world.ts";

const built = fileURLToPath(new URL("../../../packages/cli/dist/bin.js", import.meta.url));
const source = fileURLToPath(new URL("../../../packages/cli/src/bin.ts", import.meta.url));

/** As an installed package starts, when `npm run build` was run; reading TypeScript takes longer and more memory. */
export const startAndIdle: Row = {
  id: "15",
  title: "start of `roomhub serve` until /health responds; resident memory idle",
  seconds: { full: 13, quick: 4 },
  async run(world) {
    const runs = world.either(3, 1);
    const kinds = existsSync(built) ? (["dist", "sources"] as const) : (["sources"] as const);
    const seen: { kind: string; seconds: number; megabytes: number }[] = [];
    for (let run = 0; run < runs; run++) {
      for (const kind of kinds) seen.push({ kind, ...(await startOnce(world, kind)) });
    }
    const of = (kind: string) => {
      const those = seen.filter((one) => one.kind === kind);
      return {
        seconds: median(those.map(({ seconds }) => seconds)),
        megabytes: median(those.map(({ megabytes }) => megabytes)),
      };
    };
    const { seconds, megabytes } = of(kinds[0]);
    return measured(
      [
        { what: "start", value: seconds, goal: 0.6, unit: "s" },
        { what: "idle", value: megabytes, goal: 90, unit: "MB" },
      ],
      kinds.map((kind) => {
        const { seconds, megabytes } = of(kind);
        return `${kind}: ${seconds.toFixed(2)} s, ${megabytes.toFixed(0)} MB`;
      }),
    );
  },
};

async function startOnce(world: BenchWorld, kind: "dist" | "sources") {
  const port = await freePort();
  const flags = ["--conditions=@roomhub/source", "--disable-warning=ExperimentalWarning"];
  const program = kind === "dist" ? [built] : [...flags, source];
  const startMs = performance.now();
  const child = world.children.command(
    [process.execPath, ...program, "serve", "--port", String(port), "--ephemeral"],
    world.newPath("start.log"),
  );
  while (!(await isHealthy(port))) {
    if (child.hasEnded || performance.now() - startMs > 15_000) {
      throw new Error("roomhub serve did not come up");
    }
  }
  const seconds = (performance.now() - startMs) / 1_000;
  const megabytes = (await settledRssBytes(child)) / 1e6;
  await child.kill("SIGTERM");
  return { seconds, megabytes };
}

/** @returns after about 5 ms when nothing listens there */
function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ host: "127.0.0.1", port, path: "/health", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    }).on("error", () => setTimeout(() => resolve(false), 5));
  });
}
