import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  brokenLinks,
  readGuides,
  root,
  shellLines,
  shellWords,
} from "../support/documents/guide.ts";
import { openGuideLab } from "../support/documents/guide-lab.ts";
import { batch } from "./guides/batch.ts";
import { behindAProxy } from "./guides/behind-a-proxy.ts";
import type { BlockPlan } from "./guides/block-plan.ts";
import { clients, clientSettings } from "./guides/clients.ts";
import { closedRoom, encrypted } from "./guides/closed-room.ts";
import { cluster, clusterBalancer, kubernetes, natsReference } from "./guides/cluster.ts";
import { misunderstood } from "./guides/command-line.ts";
import { docker, dockerCluster } from "./guides/docker.ts";
import { install } from "./guides/install.ts";
import { observe } from "./guides/observe.ts";
import {
  cliPackage,
  hubPackage,
  protocolPackage,
  providerPackage,
  tunnelPackage,
} from "./guides/packages.ts";
import {
  buildOnIt,
  clientPackage,
  participantPackage,
  pythonParticipant,
  roomStatePackage,
} from "./guides/programs.ts";
import { oneLine, quickstart, readme, shareACloudModel } from "./guides/quickstart.ts";
import { watch } from "./guides/watch.ts";

const guides = readGuides();

/** Every code block of every guide: the test that follows it, or why there is none. */
const plans: Record<string, readonly BlockPlan[]> = {
  "docs/guides/batch.md": batch,
  "docs/guides/behind-a-proxy.md": behindAProxy,
  "docs/guides/build-on-it.md": buildOnIt,
  "docs/guides/clients.md": clients,
  "docs/guides/closed-room.md": closedRoom,
  "docs/guides/cluster-balancer.md": clusterBalancer,
  "docs/guides/cluster.md": cluster,
  "docs/guides/docker-cluster.md": dockerCluster,
  "docs/guides/docker.md": docker,
  "docs/guides/encrypted.md": encrypted,
  "docs/guides/install.md": install,
  "docs/guides/kubernetes.md": kubernetes,
  "docs/guides/observe.md": observe,
  "docs/guides/one-line.md": oneLine,
  "docs/guides/python-participant.md": pythonParticipant,
  "docs/guides/quickstart.md": quickstart,
  "docs/guides/share-a-cloud-model.md": shareACloudModel,
  "docs/guides/watch.md": watch,
  "docs/reference/clients.md": clientSettings,
  "docs/reference/nats.md": natsReference,
  "README.md": readme,
  "packages/cli/README.md": cliPackage,
  "packages/client/README.md": clientPackage,
  "packages/hub/README.md": hubPackage,
  "packages/participant/README.md": participantPackage,
  "packages/protocol/README.md": protocolPackage,
  "packages/provider/README.md": providerPackage,
  "packages/room-state/README.md": roomStatePackage,
  "packages/tunnel/README.md": tunnelPackage,
};

test("every code block of a guide has one plan, which follows it or states why it cannot", () => {
  const planned = guides.flatMap(({ path, blocks }) =>
    blocks.map(({ text }) => {
      const fitting = (plans[path] ?? []).filter(({ begins }) => text.startsWith(begins));
      return [`${path}: ${text.slice(0, 60)}`, fitting.length];
    }),
  );
  expect(planned.filter(([, count]) => count !== 1)).toEqual([]);
  const counts = guides.map(({ path, blocks }) => [path, blocks.length]);
  const plannedCounts = Object.entries(plans).map(([path, { length }]) => [path, length]);
  expect(Object.fromEntries(plannedCounts)).toEqual(Object.fromEntries(counts));
  const empty = Object.values(plans)
    .flat()
    .filter(({ follow, cannot }) => follow === undefined && cannot === undefined);
  expect(empty).toEqual([]);
});

const followed = Object.entries(plans).filter(([, plans]) =>
  plans.some(({ follow }) => follow !== undefined),
);

describe.each(followed)("%s", (path, plans) => {
  for (const { begins, follow, cannot, missing } of plans) {
    if (follow === undefined) continue;
    const reason = missing === undefined ? cannot : `skipped: ${missing}`;
    const title = `${begins.trim().replaceAll(/\s+/g, " ")} …${reason === undefined ? "" : ` (${reason})`}`;
    test.skipIf(missing !== undefined)(title, async () => {
      const { blocks = [] } = guides.find((guide) => guide.path === path) ?? {};
      const block = blocks.find(({ text }) => text.startsWith(begins));
      await using lab = await openGuideLab();
      await follow(block?.text ?? "", lab);
    });
  }
});

const short = guides.filter(({ path }) => path.startsWith("docs/guides/"));

test.each(short.map(({ path, text }) => [path, text] as const))(
  "%s begins with an example and has at most 700 words",
  (_path, text) => {
    const [before = "", ...rest] = text.split("\n```");
    expect(rest).not.toEqual([]);
    expect(wordsIn(before)).toBeLessThanOrEqual(50);
    expect(wordsIn(text)).toBeLessThanOrEqual(700);
  },
);

test("README.md has at most 1,500 words, and names on its first screen what the room is used from", () => {
  const { text = "" } = guides.find(({ path }) => path === "README.md") ?? {};
  expect(wordsIn(text)).toBeLessThanOrEqual(1_500);
  const screen = text.slice(0, text.indexOf("!["));
  const named = ["Claude Code", "Codex", "opencode", "roomhub launch", "roomhub chat", "Try it"];
  for (const name of named) expect(screen).toContain(name);
  expect(wordsIn(screen)).toBeLessThanOrEqual(250);
});

function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}

test("every roomhub command in a guide is one the command line understands", () => {
  const seen: string[] = [];
  for (const guide of guides) {
    for (const line of shellLines(guide)) {
      const [, given] = /\b(?:npx )?roomhub ([a-z].*?)(?:\)"?)?(?:\s+#.*)?$/.exec(line) ?? [];
      if (given === undefined) continue;
      seen.push(given);
      expect(misunderstood(shellWords(given)), `${guide.path}: ${line}`).toEqual([]);
    }
  }
  expect(seen.length).toBeGreaterThan(10);
  expect(misunderstood(["join", "ABC234", "--all-modles"])).toEqual(["--all-modles"]);
  expect(misunderstood(["jion"])).toEqual(["jion"]);
  expect(misunderstood(["report"])).toEqual(["0 arguments"]);
});

test("the programs and links that a guide names exist", () => {
  const broken = guides.flatMap((guide) =>
    brokenLinks(guide).map((link) => `${guide.path}: ${link}`),
  );
  expect(broken).toEqual([]);
  const named = guides.flatMap(shellLines).flatMap((line) => line.match(/\bexamples\/\S+/g) ?? []);
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
