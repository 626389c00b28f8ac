import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import { missingInPython } from "../../support/programs/python.ts";
import { temporaryFolder } from "../../support/programs/temporary-folder.ts";
import type { BlockPlan } from "./block-plan.ts";

const question = { model: "llama3.2", messages: [{ role: "user", content: "Hello!" }] };

function requestLine(id: string): string {
  const about = { custom_id: id, method: "POST", url: "/v1/chat/completions" };
  return `${JSON.stringify({ ...about, body: question })}\n`;
}

/** Writes the guide's file of requests. */
async function fileOfRequests(requests = requestLine("q-1") + requestLine("q-2")) {
  const folder = await temporaryFolder();
  const path = join(folder.path, "evals.jsonl");
  await writeFile(path, requests);
  const there = (text: string) => text.replaceAll("evals.", join(folder.path, "evals."));
  const sent = async (lab: GuideLab) => {
    await lab.shell(`npx roomhub batch '${path}' --room ${lab.invite} 2>/dev/null`);
    return readFile(join(folder.path, "evals.output.jsonl"), "utf8");
  };
  return {
    ...{ folder, path, there, sent },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function inRoom(block: string, { invite }: GuideLab): string {
  return block.trim().replace("--room ABC234", `--room ${invite}`);
}

async function python(lab: GuideLab, source: string): Promise<string> {
  return lab.shell(`python3 - <<'END'\n${source}\nEND`);
}

export const batch: readonly BlockPlan[] = [
  {
    begins: "npx roomhub batch evals.jsonl --room ABC234 --until",
    async follow(block, lab) {
      await using file = await fileOfRequests();
      const told = await lab.shell(`${file.there(inRoom(block, lab))} 2>/dev/null`);
      expect(told).toMatch(/^2 of 2 results in /);
    },
  },
  {
    begins: '{"custom_id": "q-1"',
    async follow(block, lab) {
      await using file = await fileOfRequests(block);
      expect((await file.sent(lab)).match(/"custom_id":"q-[12]"/g)).toHaveLength(2);
    },
  },
  {
    begins: "import json",
    async follow(block, lab) {
      await using file = await fileOfRequests("");
      await python(lab, `reviews = ["good", "bad"]\n${file.there(block)}`);
      expect((await file.sent(lab)).match(/"custom_id":"q-[01]"/g)).toHaveLength(2);
    },
  },
  {
    begins: "npx roomhub batch evals.jsonl --room ABC234 --dry-run",
    async follow(block, lab) {
      await using file = await fileOfRequests();
      const told = await lab.shell(`${file.there(inRoom(block, lab))} 2>/dev/null`);
      expect(told).toMatch(/^2 requests to \/v1\/chat\/completions, 1 of 1 model in room /);
    },
  },
  {
    begins: "results = {}",
    async follow(block, lab) {
      await using file = await fileOfRequests();
      await file.sent(lab);
      const printed = await python(lab, `import json\n${file.there(block)}\nprint(results["q-2"])`);
      expect(printed).toContain("Hello!");
    },
  },
  {
    begins: "npx roomhub batch serve",
    async follow(block, lab) {
      await using served = await serve(block, lab);
      const headers = { authorization: `Bearer ${served.key}` };
      const response = await fetch(`${served.baseUrl}/batches`, { headers });
      expect(await response.json()).toMatchObject({ object: "list", data: [] });
    },
  },
  {
    begins: "from openai import OpenAI",
    missing: missingInPython("openai"),
    async follow(block, lab) {
      await using file = await fileOfRequests();
      await using served = await serve(
        "npx roomhub batch serve --room ABC234 --dir ~/batches",
        lab,
      );
      const access = `import os, time
os.environ.update(OPENAI_BASE_URL="${served.baseUrl}", OPENAI_API_KEY="${served.key}")`;
      const rest = `while batch.status != "completed":
    time.sleep(0.1)
    batch = client.batches.retrieve(batch.id)
print(client.files.content(batch.output_file_id).text)`;
      const printed = await python(lab, [access, file.there(block), rest].join("\n"));
      expect(printed.match(/"custom_id":"q-[12]".*Hello!/g)).toHaveLength(2);
    },
  },
];

/** `batch serve` as the guide starts it, with what it prints. */
async function serve(block: string, lab: GuideLab) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const line = inRoom(block, lab).replace("~/batches", join(folder.path, "batches"));
  const program = stack.use(lab.start(`${line} --port 0`));
  await program.says(/^OPENAI_API_KEY=/m);
  const [, baseUrl = ""] = /^OPENAI_BASE_URL=(\S+)/m.exec(program.output) ?? [];
  const [, key = ""] = /^OPENAI_API_KEY=(\S+)/m.exec(program.output) ?? [];
  const owned = stack.move();
  return { baseUrl, key, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
