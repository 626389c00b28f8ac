import { expect } from "vitest";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import type { BlockPlan } from "./block-plan.ts";

export const batch: readonly BlockPlan[] = [
  {
    begins: "roomhub batch evals.jsonl --room ABC234 --until",
    cannot: "its file is in the next block, which is sent there",
  },
  { begins: '{"custom_id"', follow: sendsTheFile },
  { begins: "import json", cannot: "the reviews are the reader's" },
  {
    begins: "roomhub batch evals.jsonl --room ABC234 --dry-run",
    cannot: "its file is in the block above, which is checked there",
  },
  { begins: "results = {}", cannot: "it reads what the reader's file has become" },
  {
    begins: "roomhub batch serve",
    cannot:
      "its folder is in the reader's home; tests/system/batch-serve.test.ts has one of its own",
  },
  { begins: "from openai", cannot: "it needs a package of Python" },
];

async function sendsTheFile(block: string, lab: GuideLab): Promise<void> {
  const file = "$XDG_STATE_HOME/evals.jsonl";
  const send = `npx roomhub batch "${file}" --room ${lab.invite}`;
  const write = `cat > "${file}" <<'END'\n${block.trim()}\nEND`;
  const dry = await lab.shell(`${write}\n${send} --dry-run 2>/dev/null`);
  expect(dry).toContain("2 requests to /v1/chat/completions, 1 of 1 model in room");
  const sent = await lab.shell(`${write}\n${send} --until 07:00 2>/dev/null`);
  expect(sent).toMatch(/^2 of 2 results in .*evals\.output\.jsonl\n.*: ben 100 %\n$/);
}
