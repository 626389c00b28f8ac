import { expect } from "vitest";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import type { BlockPlan } from "./block-plan.ts";

const install: Pick<BlockPlan, "begins" | "cannot"> = {
  begins: "npm install ",
  cannot: "it installs what is published; check:packages installs the tarballs of this checkout",
};

export const hubPackage: readonly BlockPlan[] = [
  install,
  {
    begins: "import assert",
    follow: (block, lab) => prints(block, lab, /a participant of the room responds/),
  },
];

export const cliPackage: readonly BlockPlan[] = [
  install,
  ...["roomhub up --lan", "roomhub join", "roomhub launch claude", "roomhub participants"].map(
    (begins) => ({ begins, cannot: "the quickstart runs these lines; here they are read" }),
  ),
];

export const protocolPackage: readonly BlockPlan[] = [
  install,
  {
    begins: "import { createSseReader",
    follow: (block, lab) =>
      prints(block, lab, /^false\n404 60000\nroom\.created \{"roomCode":"ABC234"\}$/m),
  },
];

export const providerPackage: readonly BlockPlan[] = [
  install,
  {
    begins: "import { ModelServer, ProviderClient }",
    follow: (block, lab) =>
      prints(
        block.replace("http://127.0.0.1:11434", lab.provider.url.replace(/\/v1$/, "")),
        lab,
        /\[\s*'/,
      ),
  },
];

export const tunnelPackage: readonly BlockPlan[] = [
  install,
  {
    begins: "import { AgentSession, RequesterSession",
    follow: (block, lab) => prints(block, lab, /you requested \//),
  },
];

/** A program that ends well, and has written this. */
async function prints(source: string, lab: GuideLab, expected: RegExp): Promise<void> {
  const tellsItsEnd = 'process.on("exit", (code) => console.log(`ended with ${code}`));';
  await using program = lab.script(`${source}\n${tellsItsEnd}`);
  await program.says(/^ended with 0$/m);
  expect(program.output).toMatch(expected);
}
