import { expect } from "vitest";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import type { BlockPlan } from "./block-plan.ts";
import { sees } from "./send-request.ts";

export const watch: readonly BlockPlan[] = [
  { begins: "npx roomhub monitor", follow: (block, lab) => servesThePage(block, lab) },
  { begins: "https://pages.example", cannot: "it is the form of a URL at a host of the reader's" },
];

/** Each line runs until it is stopped, and shows what happens in the room. */
export async function watchByEachLine(block: string, lab: GuideLab): Promise<void> {
  for (const line of block.trim().split("\n")) {
    if (line.includes("roomhub monitor")) await servesThePage(line, lab);
    else {
      await using program = lab.start(line);
      const shown = line.includes("roomhub top") ? /llama3\.2/ : /llm\.complete/;
      await sees(program.says(shown), lab);
    }
  }
}

async function servesThePage(line: string, lab: GuideLab): Promise<void> {
  const command = line.replace(/#.*/, "").trim();
  await using program = lab.start(`${command} --no-open --port 0`);
  await program.says(/http:\/\/127\.0\.0\.1:\d+\S*/);
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(program.output) ?? [];
  const page = await fetch(url);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain("<title>");
}
