import { execFile } from "node:child_process";
import { get } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../../peers/peer.ts";
import { settledRssBytes } from "../../figures/memory.ts";
import { measured, type Row } from "../../row.ts";
import { median } from "../../figures/spread.ts";
import type { BenchWorld } from "../../processes/world.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The program as it is published. */
export const startAndIdle: Row = {
  id: "15",
  title: "start of `roomhub serve` until /health responds; resident memory idle",
  seconds: { full: 13, quick: 6 },
  async run(world) {
    const folder = world.newPath("published");
    await promisify(execFile)("npm", ["run", "-s", "build:bundle", "--", folder], { cwd: root });
    const program = join(folder, "roomhub/bin/roomhub.js");
    const seconds: number[] = [];
    const megabytes: number[] = [];
    for (let run = 0; run < world.either(5, 1); run++) {
      const started = await startOnce(world, program);
      seconds.push(started.seconds);
      megabytes.push(started.megabytes);
    }
    return measured([
      { what: "start", value: median(seconds), goal: 0.6, unit: "s" },
      { what: "idle", value: median(megabytes), goal: 90, unit: "MB" },
    ]);
  },
};

async function startOnce(world: BenchWorld, program: string) {
  const port = await freePort();
  const startMs = performance.now();
  const child = world.children.command(
    [process.execPath, program, "serve", "--port", String(port), "--ephemeral"],
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
