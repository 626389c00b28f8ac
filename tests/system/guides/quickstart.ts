import { networkInterfaces, userInfo } from "node:os";
import { expect } from "vitest";
import { findLanAddresses } from "../../../packages/cli/src/hosting/network-addresses.ts";
import { settled } from "../../../scripts/transcript-picture.ts";
import { cloudKey, type GuideLab } from "../../support/documents/guide-lab.ts";
import { runCommand } from "../../support/programs/run-command.ts";
import { ask, runToItsEnd, watchByScript } from "./send-request.ts";
import { watchByEachLine } from "./watch.ts";
import type { BlockPlan } from "./block-plan.ts";

const fromTheHub: BlockPlan = {
  begins: "curl -k --pinnedpubkey",
  cannot: "one-line.slow.test.ts runs it, without a registry",
};

export const oneLine: readonly BlockPlan[] = [fromTheHub];

export const quickstart: readonly BlockPlan[] = [
  {
    begins: "npm start -- --lan\n",
    // Without a model server, as documented: the demo model responds.
    follow: (block, lab) => hostARoom(`OLLAMA_HOST=127.0.0.1:9 ${block}`, lab),
  },
  {
    begins: "npx roomhub chat\n",
    // In a pipe it sends one prompt; chat.test.ts has a conversation in a terminal.
    async follow(block, lab) {
      const answer = await lab.shell(`export ROOMHUB_URL=${lab.hub.url}\necho Hello! | ${block}`);
      expect(answer).toBe("Hello!\n");
    },
  },
  { begins: "curl -N ", follow: askForAStream },
  fromTheHub,
  { begins: "npx roomhub join http", follow: shareAModel },
  { begins: "export OPENAI_BASE_URL", follow: askByVariables },
  {
    begins: "npx roomhub doctor",
    async follow(block, lab) {
      expect(await lab.shell(block)).toMatch(/✓ request .* ben responded/);
    },
  },
  {
    begins: "ana$ ",
    cannot:
      "scripts/quickstart-transcript.mjs writes it from terminals; the host's lines are compared",
    // What to install is printed for the system.
    missing: isInANetwork() && process.platform === "linux" ? undefined : "Linux, and a network",
    follow: hasTheHostsLines,
  },
];

export const readme: readonly BlockPlan[] = [
  {
    begins: "npm start   ",
    // The other line of it is a conversation.
    follow: (block, lab) => hostARoom(firstLine(block), lab),
  },
  { begins: "client ──", cannot: "it is a drawing" },
  { begins: "npm start -- --lan", follow: hostARoom },
  fromTheHub,
  { begins: "curl -N http", follow: askForAStream },
  { begins: "import OpenAI", follow: runToItsEnd },
  { begins: "npx roomhub top", follow: watchByEachLine },
  {
    begins: "import { openAIOptions, openRoom }",
    follow: (block, lab) => watchByScript(`import OpenAI from "openai";\n${block}`, lab),
  },
];

export const shareACloudModel: readonly BlockPlan[] = [
  {
    begins: "export API_AUTH",
    async follow(block, lab) {
      await using agent = lab.start(block);
      await agent.says(/connected/);
      await askTheCloud(lab);
      expect(await agent.stop("SIGINT")).toBe(0);
    },
  },
  {
    begins: "curl http",
    async follow(block, lab) {
      await lab.shell(block.replace("YOUR_API_KEY", cloudKey));
      await askTheCloud(lab);
    },
  },
  {
    begins: "npx roomhub join",
    async follow(block, lab) {
      // At whatever hour this runs.
      const budget = block.replace(" --hours 18-23", "");
      await using agent = lab.start(`export API_AUTH="Bearer ${cloudKey}"\n${budget}`);
      await agent.says(/connected/);
      await askTheCloud(lab);
      const everybody = await lab.hub.client.listParticipants(lab.code);
      expect(everybody.map(({ budget }) => budget?.tokensPerDay)).toContain(200_000);
      expect(await agent.stop("SIGINT")).toBe(0);
    },
  },
  {
    begins: "API_KEY=",
    async follow(block, lab) {
      await using program = lab.start(block);
      await program.says(/big-1 is in the room/);
      await askTheCloud(lab);
    },
  },
];

async function hostARoom(block: string, lab: GuideLab): Promise<void> {
  // On this machine only: a network may have rules of its own for what tests open to it.
  await using host = lab.start(`ROOMHUB_PORT=0 ${block.replace("--lan", "")}`);
  await host.says(/Requests appear here/);
  const [curl = ""] = /curl -N .*/.exec(host.output) ?? [];
  const { stdout } = await runCommand("bash", ["-c", curl]);
  expect(stdout).toMatch(/^data: \{.*\n/);
  expect(stdout).toContain("data: [DONE]");
  // Off a terminal, the log stands for the table.
  await host.says(/^\[service\] llm\.complete /m);
  expect(await host.stop("SIGINT")).toBe(0);
}

/** What `up` prints here, and what the transcript shows, up to the requests. */
async function hasTheHostsLines(transcript: string, lab: GuideLab): Promise<void> {
  await using host = lab.start(
    "ROOMHUB_PORT=0 ROOMHUB_MDNS=1 OLLAMA_HOST=127.0.0.1:9 npx roomhub up --lan",
  );
  await host.says(/Requests appear here.*\n/);
  const [, code = ""] = /^Room (\w+)/m.exec(host.output) ?? [];
  const printed = settled(host.output, code, userInfo().username);
  expect(hostsLines(transcript)).toEqual(hostsLines(printed));
  expect(await host.stop("SIGINT")).toBe(0);
}

/** Off a terminal there is no QR code. */
function hostsLines(text: string): string[] {
  const [lines = ""] = /^Room [^]*?Requests appear here.*/m.exec(text) ?? [];
  return lines.split("\n").filter((line) => line !== "" && !line.includes("QR code"));
}

function isInANetwork(): boolean {
  return findLanAddresses(networkInterfaces()).some(({ address }) => !address.includes(":"));
}

async function askForAStream(block: string, lab: GuideLab): Promise<void> {
  expect(await lab.shell(block)).toContain("data: [DONE]");
  expect(lab.provider.requests.at(-1)?.json).toMatchObject({ stream: true });
}

async function shareAModel(block: string, lab: GuideLab): Promise<void> {
  await using friend = lab.start(block);
  await friend.says(/connected/);
  const everybody = await lab.hub.client.listParticipants(lab.code);
  await ask(lab, everybody.find(({ id }) => id !== "ben")?.id);
  await friend.says(/\bok 200\b/);
  expect(await friend.stop("SIGINT")).toBe(0);
}

/** With an SDK that gets no other settings. */
async function askByVariables(block: string, lab: GuideLab): Promise<void> {
  const source = `const { default: OpenAI } = await import("openai");
const { data } = await new OpenAI().models.list();
console.log(data.map(({ id }) => id).join());`;
  expect(await lab.shell(`${block}node --input-type=module --eval '${source}'`)).toBe("ben\n");
}

async function askTheCloud(lab: GuideLab): Promise<void> {
  await ask(lab, "big-1");
  expect(lab.cloud.requests.at(-1)?.headers["authorization"]).toBe(`Bearer ${cloudKey}`);
  expect(JSON.stringify(await lab.hub.client.listParticipants(lab.code))).not.toContain(cloudKey);
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
