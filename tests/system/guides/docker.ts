import { expect } from "vitest";
import { shellLines, shellWords } from "../../support/documents/guide.ts";
import { misunderstood } from "./command-line.ts";
import type { BlockPlan } from "./block-plan.ts";

const cannot = "containers need an engine; what they run in them is read";

export const docker: readonly BlockPlan[] = [
  { begins: "docker build", cannot, follow: readCommands },
  { begins: "docker compose up", cannot, follow: readCommands },
  { begins: "docker run", cannot, follow: readCommands },
];

export const dockerCluster: readonly BlockPlan[] = [
  { begins: "mkdir -m 700 secrets", cannot: "a test of its own runs hubs with these secrets" },
  { begins: "docker compose -f compose.cluster.yaml up", cannot, follow: readCommands },
  { begins: "docker compose -f compose.cluster.yaml build", cannot },
  { begins: "docker compose -f compose.yaml stop", cannot, follow: readCommands },
];

/** What stands behind the image's name, or behind the command that is executed, is for `roomhub`. */
function readCommands(block: string): Promise<void> {
  const lines = shellLines({ blocks: [{ language: "sh", text: block }] });
  const inside = lines.flatMap((line) => {
    if (line.startsWith("docker build")) return [];
    const [, given] = / (?:roomhub|--secrets-file=\S+) (\w.*?)\)?$/.exec(line) ?? [];
    return given === undefined ? [] : [given];
  });
  expect(inside).not.toEqual([]);
  for (const given of inside) expect(misunderstood(shellWords(given)), given).toEqual([]);
  return Promise.resolve();
}
