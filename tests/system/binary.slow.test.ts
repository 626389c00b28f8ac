import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { bareNpm, hasNpx } from "../support/programs/bare-npm.ts";
import { curlIn, startIn } from "../support/programs/in-namespace.ts";
import { cableTwoNamespaces, hasNamespaces } from "../support/programs/network-namespaces.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { until } from "../support/waiting.ts";
import { smokeProgram } from "../../scripts/release/smoke-program.ts";
import { nodeProgram } from "../../scripts/binary/node-program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8")) as {
  version: string;
};
const modelServer = join(root, "tests/support/programs/tiny-model-server.ts");
const folder = mkdtempSync(join(tmpdir(), "roomhub-binary-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Built {
  file: string;
  bytes: number;
  nodeBytes: number;
  /** SHA-512 of the tarball that is inside, in hexadecimal */
  handout: string;
}

const missing = installNode();
const title = missing === undefined ? "" : ` (skipped: ${missing})`;

/** The one step that may need a registry. @returns why it failed */
function installNode(): string | undefined {
  try {
    nodeProgram(root);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

describe.skipIf(missing !== undefined)(`the executable${title}`, () => {
  let built: Built;
  beforeAll(() => {
    built = build();
  }, 120_000);

  test("is at most 1.15 times as large as the Node inside", () => {
    const { bytes, nodeBytes } = built;
    expect(bytes).toBeGreaterThan(nodeBytes);
    expect(bytes).toBeLessThanOrEqual(1.15 * nodeBytes);
  });

  test("runs where there is no other program: a hub, a participant, a request, doctor", async () => {
    const { file, handout } = built;
    await smokeProgram({ program: [file], version, env: { PATH: folder }, handout });
  });

  const alone = hasNamespaces ? (hasNpx ? undefined : "npx") : "network namespaces";
  test.skipIf(alone !== undefined)(
    `needs no Node and no registry to share a model, and hands out a package that npx runs${alone === undefined ? "" : ` (skipped: no ${alone} here)`}`,
    async () => {
      const { file } = built;
      await using stack = new AsyncDisposableStack();
      const [host, friend] = await cableTwoNamespaces(stack);
      const bare = async () => ({
        PATH: folder,
        HOME: stack.use(await temporaryFolder()).path,
      });
      const hub = startIn(stack, host, await bare(), [file, "up", "--lan", "--no-mdns"], true);
      await hub.says(/SHA-512 .*: [0-9a-f]{128}/);
      const line = /curl -k --pinnedpubkey .* join '((http[^#]+)#pin=.*)'/.exec(hub.output);
      const [command = "", invite = "", roomUrl = ""] = line ?? [];

      const models = startIn(stack, friend, {}, [
        ...[process.execPath, "--conditions=@roomhub/source", modelServer],
      ]);
      await models.says(/ready/);
      const startMs = performance.now();
      startIn(stack, friend, await bare(), [file, "join", invite, "--nickname", "Ada"], true);
      const participants = () => curlIn(host, `${roomUrl}/participants`);
      const isConnected = (text: string) => /"id":"ada-tiny".*?"connected":true/.test(text);
      await until("the model", participants, isConnected, 30_000);
      expect(performance.now() - startMs).toBeLessThan(10_000);
      const request = JSON.stringify({ model: "tiny", messages: [userSays("hello")] });
      const response = await curlIn(host, `${roomUrl}/v1/chat/completions`, "-d", request);
      expect(JSON.parse(response)).toMatchObject({ object: "chat.completion" });

      const npm = await bareNpm(stack.use(await temporaryFolder()).path);
      startIn(stack, friend, npm, ["sh", "-c", `cd "$HOME" && ${command} --nickname Bob`], true);
      await until("the second model", participants, (text) => text.includes('"bob-tiny"'), 30_000);
    },
  );

  test("takes options of Node for options of its own, and refuses them", () => {
    const { file } = built;
    const { status, stderr } = spawnSync(file, ["--eval", "1"], { encoding: "utf8" });
    expect([status, stderr]).toEqual([2, expect.stringContaining("unknown option '--eval'")]);
  });

  test("is started by a service without a launcher", () => {
    const { file } = built;
    const args = ["service", "install", "serve", "--print"];
    const { stdout } = spawnSync(file, args, {
      encoding: "utf8",
      env: { ...process.env, XDG_STATE_HOME: folder },
    });
    const secrets = join(folder, "roomhub", "services", "serve.env");
    if (process.platform === "linux") {
      expect(stdout).toContain(`ExecStart="${file}" "--secrets-file=${secrets}" "serve"\n`);
    } else {
      expect(stdout).toContain(file);
    }
  });
});

function build(): Built {
  const script = join(root, "scripts", "binary", "build.ts");
  const args = ["--conditions=@roomhub/source", script, folder];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`the executable cannot be built: ${stderr}`);
  return JSON.parse(stdout) as Built;
}
