import { expect } from "vitest";
import { parse } from "yaml";
import type { BlockPlan } from "./block-plan.ts";
import { ask } from "./send-request.ts";

export const observe: readonly BlockPlan[] = [
  {
    begins: "npx roomhub metrics",
    async follow(block, lab) {
      await using program = lab.start(`${block.trim()} ${lab.invite} --port 0`);
      await program.says(/\/metrics$/m);
      const [url = ""] = /http\S+\/metrics/.exec(program.output) ?? [];
      await ask(lab);
      await expect
        .poll(async () => (await fetch(url)).text(), { timeout: 10_000 })
        .toMatch(/^roomhub_requests_total\{.*participant="ben".*\} 1$/m);
      expect(await program.stop("SIGINT")).toBe(0);
    },
  },
  {
    begins: "scrape_configs:",
    cannot: "there is no Prometheus here; the block is read",
    async follow(block) {
      expect(parse(block)).toMatchObject({
        scrape_configs: [{ static_configs: [{ targets: ["127.0.0.1:9464"] }] }],
      });
    },
  },
];
