import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { root } from "../../support/documents/guide.ts";
import type { GuideLab } from "../../support/documents/guide-lab.ts";
import { missingInPython } from "../../support/programs/python.ts";
import { ask, runToItsEnd, watchByScript } from "./send-request.ts";
import type { BlockPlan } from "./block-plan.ts";

export const buildOnIt: readonly BlockPlan[] = [
  { begins: "import { RoomhubClient }", follow: (block, lab) => watchByScript(block, lab) },
  {
    begins: "// A jury",
    // Run by examples.slow.test.ts, and below.
    follow(block) {
      expect(block).toBe(readFileSync(join(root, "examples/jury.ts"), "utf8"));
      return Promise.resolve();
    },
  },
  {
    begins: "node --conditions=@roomhub/source examples/jury.ts",
    async follow(block, lab) {
      expect(await lab.shell(block)).toMatch(/1\. ben: Is a tomato.*Ben judges:/s);
    },
  },
];

export const roomStatePackage: readonly BlockPlan[] = [
  {
    begins: "import { RoomhubClient } from",
    follow(block, lab) {
      const around = `const { signal } = new AbortController();
const show = (running, slots, { requests }) => requests > 0 && console.log(\`\${requests} ended\`);
`;
      return watchByScript(around + block, lab, /^1 ended$/m);
    },
  },
];

export const clientPackage: readonly BlockPlan[] = [
  { begins: "npm install http", cannot: "sdk-handout.slow.test.ts installs it from a hub" },
  {
    begins: "import { openAIOptions, RoomhubClient }",
    follow: (block, lab) => watchByScript(block, lab),
  },
  {
    begins: "new OpenAI(openAIOptions(room));",
    async follow(block, lab) {
      const imports = `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenResponses } from "@ai-sdk/open-responses";
import Anthropic from "@anthropic-ai/sdk";
import { aiSDKOptions, anthropicOptions, openAIOptions, openResponsesOptions, openRoom } from "@roomhub/client";
import OpenAI from "openai";`;
      await runToItsEnd(`${imports}${openTheRoom}${block}console.log("Hello!");`, lab);
    },
  },
  {
    begins: "for await (const event",
    follow(block, lab) {
      const around = `import { openRoom } from "@roomhub/client";
const { signal } = new AbortController();${openTheRoom}${block}`;
      return watchByScript(around, lab, /^llama3\.2 [\d.]+$/m);
    },
  },
  {
    begins: "try {",
    async follow(block, lab) {
      const imports = `import { isHubUnreachableError, isRoomhubError, RoomhubClient } from "@roomhub/client";
const hub = new RoomhubClient({ hubUrl: "${lab.hub.url}" });\n`;
      await using program = lab.script(imports + block.replace("ABC234", "ZZZZZZ"));
      await program.says(/ZZZZZZ/);
    },
  },
];

const openTheRoom = `\nconst room = await openRoom("http://192.168.1.5:5050/rooms/ABC234");\n`;

export const participantPackage: readonly BlockPlan[] = [
  {
    begins: "import { createParticipant }",
    async follow(block, lab) {
      const here = lab.here(block).replace("http://127.0.0.1:11434", lab.provider.url);
      await serves(here, lab, "ana-llama");
    },
  },
  {
    begins: "createParticipant({\n  ...who,\n  budget",
    async follow(block, lab) {
      // At whatever time of day this runs.
      const anytime = block.replace(/ *hours: .*\n/, "");
      const around = `import { createParticipant } from "@roomhub/participant";
const who = { hubUrl: "${lab.hub.url}", room: "${lab.code}", id: "ana-budget", nickname: "Ana", model: "m", endpoint: "${lab.provider.url}", budgetFolder: "${mkdtempSync(join(tmpdir(), "budget-"))}" };
const participant = ${anytime}await participant.start();
console.log("connected");`;
      await serves(around, lab, "ana-budget");
    },
  },
  {
    begins: "createParticipant({\n  ...who,\n  serve",
    async follow(block, lab) {
      const around = `import { createParticipant } from "@roomhub/participant";
const who = { hubUrl: "${lab.hub.url}", room: "${lab.code}", id: "ana-fn", nickname: "Ana", model: "m" };
const myModel = (messages, { signal }) => ({ choices: [{ message: messages.at(-1) }], aborted: signal.aborted });
const participant = ${block}await participant.start();
console.log("connected");`;
      await serves(around, lab, "ana-fn");
    },
  },
];

async function serves(source: string, lab: GuideLab, id: string): Promise<void> {
  await using program = lab.script(source);
  await program.says(/connected/);
  await ask(lab, id);
}

const python = withWebsockets();

export const pythonParticipant: readonly BlockPlan[] = [
  {
    begins: "pip install websockets",
    missing: python.missing,
    async follow(block, lab) {
      const [, ...rest] = block.split("\n");
      const path = `export PYTHONPATH='${python.library}' PYTHONDONTWRITEBYTECODE=1`;
      await using participant = lab.start(
        `${path}\n${rest.join("\n").replace("python3", "exec python3")}`,
      );
      await participant.says(/^connected$/m);
      await ask(lab, "parrot");
      await ask(lab, "parrot-1");
    },
  },
  {
    begins: "npx roomhub chat",
    async follow(block, lab) {
      // Any participant with that model; here it is Ben.
      const answer = await lab.shell(block.replace("parrot-1", "llama3.2"));
      expect(answer).toContain("pretty bird");
    },
  },
];

/** The guide's first line, where this machine's Python lacks it: into a folder that is kept, so that it is fetched once. */
function withWebsockets(): { library: string; missing: string | undefined } {
  const library = join(tmpdir(), "roomhub-guide-websockets");
  const missing = missingInPython("websockets");
  if (missing === undefined || existsSync(join(library, "websockets"))) {
    return { library, missing: undefined };
  }
  const install = ["-m", "pip", "install", "--quiet", "--target", library, "websockets"];
  const { status } = spawnSync("python3", install, { timeout: 60_000 });
  return { library, missing: status === 0 ? undefined : missing };
}
