/**
 * `npm run bench:room`: what placement makes of a room's machines, simulated, against other ways to choose.
 *
 * `--live` measures hub and participants as shipped too, before emulated model servers, in under a minute · `--seeds N`
 * runs per variant, 40 by default · `--table FILE` writes the tables between the markers of a document
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { withMarkedText } from "../report/marked-text.ts";
import {
  alignedTable,
  markdownTable,
  renderMarkdown,
  renderSeen,
  renderTable,
} from "../report/render.ts";
import { runVariant } from "./comparison.ts";
import { goalsOf } from "./goals.ts";
import { limitTable } from "./limits.ts";
import { measureLiveRooms } from "./live/live-rows.ts";
import { policyTable } from "./tables.ts";
import { variants } from "./variants.ts";

const { values } = parseArgs({
  options: {
    live: { type: "boolean", default: false },
    seeds: { type: "string", default: "40" },
    table: { type: "string" },
  },
});

const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
const results = variants.map((variant) => runVariant(variant, seeds));
const goals = results.map(goalsOf);
const policies = policyTable(results);
const limits = limitTable(seeds.slice(0, 10));
process.stdout.write(`${alignedTable(policies)}\n${renderTable(goals)}\n${alignedTable(limits)}`);

if (values.table !== undefined) {
  const tables = `${markdownTable(policies)}\n\n${renderMarkdown(goals)}`;
  await writeBetween(values.table, "bench:room", tables);
  await writeBetween(values.table, "bench:limits", markdownTable(limits));
}

if (values.live) {
  const live = await measureLiveRooms();
  process.stdout.write(`\n${renderTable(live)}\n${renderSeen(live)}`);
  if (values.table !== undefined) {
    const seen = live.flatMap((row) =>
      row.kind === "measured" ? row.seen.map((line) => `- ${row.id} ${line}`) : [],
    );
    await writeBetween(
      values.table,
      "bench:live-room",
      `${renderMarkdown(live)}\n\n${seen.join("\n")}`,
    );
  }
}

async function writeBetween(path: string, name: string, text: string): Promise<void> {
  await writeFile(path, withMarkedText(await readFile(path, "utf8"), name, text));
}
