import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { parse } from "yaml";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import { temporaryFolder } from "../../support/programs/temporary-folder.ts";
import type { BlockPlan } from "./block-plan.ts";
import { ask } from "./send-request.ts";

export const observe: readonly BlockPlan[] = [
  {
    begins: "npx roomhub record",
    async follow(block, lab) {
      await using folder = await temporaryFolder();
      const [record = "", report = ""] = block.split("\n");
      await recordOneRequest(record, lab, folder.path);
      const sums = await lab.shell(report.replace("lab*", `${folder.path}/lab*`));
      expect(sums).toMatch(/1 request, 0 errors/);
    },
  },
  {
    begins: "npx roomhub metrics\n",
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
  {
    begins: "npx roomhub metrics --otlp",
    async follow(block, lab) {
      const bodies: string[] = [];
      const receiver = createServer((request, response) => {
        void text(request).then((body) => {
          bodies.push(body);
          response.end("{}");
        });
      }).listen(0, "127.0.0.1");
      await once(receiver, "listening");
      const { port } = receiver.address() as AddressInfo;
      try {
        const line = block.trim().replace(":4318", `:${port}`);
        await using program = lab.start(line.replace("metrics", `metrics ${lab.invite}`));
        await program.says(/\/v1\/metrics$/m);
        await ask(lab);
        expect(await program.stop("SIGINT")).toBe(0);
      } finally {
        receiver.close();
        receiver.closeAllConnections();
      }
      expect(bodies.at(-1)).toMatch(/"roomhub\.num_requests_running".*"ben"/);
    },
  },
];

async function recordOneRequest(line: string, lab: GuideLab, folder: string): Promise<void> {
  const file = join(folder, "lab.ndjson");
  await using program = lab.start(line.trim().replace("lab.ndjson", file));
  await program.says(/recording room/);
  await ask(lab);
  await expect
    .poll(() => readFile(file, "utf8"), { timeout: 10_000 })
    .toMatch(/"name":"llm\.complete"/);
  expect(await program.stop("SIGINT")).toBe(0);
}
