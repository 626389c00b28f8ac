/**
 * `npm run bench:cluster`: what a second hub in between costs, and what being one of several costs a hub. Needs nats-server.
 *
 * `--quick` one round · `--only ROW,ROW` · `--table FILE` writes the table between the markers of a document
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { hasNatsServer } from "../../tests/support/programs/nats-server.ts";
import { BenchWorld } from "../processes/world.ts";
import { withMarkedText } from "../report/marked-text.ts";
import { renderMarkdown, renderSeen, renderTable } from "../report/render.ts";
import type { RowReport } from "../report/results.ts";
import { startBenchCluster } from "./cluster-world.ts";
import { homeAgainstAlone, watchedHomeAgainstAlone } from "./home-cost.ts";
import { hopOfJson, hopOfStreams, hopOfOne } from "./hop.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    table: { type: "string" },
  },
});

if (!hasNatsServer) {
  process.stdout.write("skipped: nats-server is not installed\n");
} else {
  await using world = await BenchWorld.create(values.quick);
  const cluster = await startBenchCluster(world);
  const rows: RowReport[] = [];
  const measurements = [
    ...[hopOfJson, hopOfStreams, hopOfOne],
    ...[homeAgainstAlone, watchedHomeAgainstAlone],
  ];
  const wanted = values.only?.split(",");
  for (const [index, measurement] of measurements.entries()) {
    const id = `C${index + 1}`;
    if (wanted?.includes(id) === false) continue;
    const startMs = performance.now();
    const { figures, seen } = await measurement.measure(world, cluster);
    const seconds = (performance.now() - startMs) / 1_000;
    const { title } = measurement;
    rows.push({ id, title, kind: "measured", figures, seen, seconds });
  }
  process.stdout.write(`${renderTable(rows)}\n${renderSeen(rows)}`);
  if (values.table !== undefined) {
    const text = withMarkedText(
      await readFile(values.table, "utf8"),
      "bench:cluster",
      renderMarkdown(rows),
    );
    await writeFile(values.table, text);
  }
}
