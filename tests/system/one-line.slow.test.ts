import { programLine } from "@roomhub/protocol";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { buildPackage } from "../../packages/cli/src/handout/create-handout.ts";
import { type Middle, startMiddle } from "../support/hub/middle.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { pinOf, testCertificate } from "../support/hub/test-certificate.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { bareNpm, hasNpx } from "../support/programs/bare-npm.ts";
import { curlIn, startIn } from "../support/programs/in-namespace.ts";
import { cableTwoNamespaces, hasNamespaces } from "../support/programs/network-namespaces.ts";
import type { Program } from "../support/programs/program.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { until } from "../support/waiting.ts";

/** Of a busy machine, for what is built or unpacked. */
const buildMs = 60_000;
const workspace = fileURLToPath(new URL("../../", import.meta.url));
const modelServer = fileURLToPath(
  new URL("../support/programs/tiny-model-server.ts", import.meta.url),
);
const missing = hasNpx ? (hasNamespaces ? undefined : "network namespaces") : "npx";
const skipped = missing === undefined ? "" : ` (skipped: no ${missing} here)`;

describe.skipIf(missing !== undefined)(`a friend without a registry${skipped}`, () => {
  test("shares a model within 10 s by the printed line alone, and hands the same program on", async () => {
    await using stack = new AsyncDisposableStack();
    const [host, friend] = await cableTwoNamespaces(stack);
    const home = stack.use(await temporaryFolder()).path;
    const hub = startIn(stack, host, { HOME: home, XDG_STATE_HOME: home }, [
      // Without `prestart`, which would install anew where the lockfile is younger.
      ...["npm", "start", "--ignore-scripts", "--prefix", workspace, "--", "--lan", "--no-mdns"],
    ]);
    await hub.says(/SHA-512 .*: [0-9a-f]{128}/, buildMs);
    const line = /curl -k --pinnedpubkey .* join '(http[^#]+)#pin=.*'/.exec(hub.output);
    const [command = "", roomUrl = ""] = line ?? [];

    const models = startIn(stack, friend, {}, [
      ...[process.execPath, "--conditions=@roomhub/source", modelServer],
    ]);
    await models.says(/ready/);
    const user = await bareNpm(stack.use(await temporaryFolder()).path);
    const startMs = performance.now();
    startIn(stack, friend, user, ["sh", "-c", `cd "$HOME" && ${command}`], true);
    await until(
      "the friend's model to be connected",
      () => curlIn(host, `${roomUrl}/participants`),
      // Listed as soon as it has joined, connected when its tunnel is open.
      (text) => /"model":"tiny".*?"connected":true/.test(text),
      30_000,
    );
    expect(performance.now() - startMs).toBeLessThan(10_000);
    const request = JSON.stringify({ model: "tiny", messages: [userSays("hello")] });
    const response = await curlIn(host, `${roomUrl}/v1/chat/completions`, "-d", request);
    expect(JSON.parse(response)).toMatchObject({ object: "chat.completion" });

    const [program = ""] = command.split(" join ");
    const next = startIn(
      stack,
      friend,
      { ...user, XDG_STATE_HOME: user["HOME"] ?? "" },
      ["sh", "-c", `cd "$HOME" && ${program} up --lan --no-mdns --port 6060`],
      true,
    );
    await next.says(/SHA-512 .*: [0-9a-f]{128}/, buildMs);
    expect(digestIn(next)).toBe(digestIn(hub));
    expect(next.output).toContain(
      "https://10.77.0.2:6060/roomhub.tgz && npx -y ./roomhub.tgz join ",
    );
  });
});

describe.skipIf(!hasNpx)(`a download that is not what the hub sent${hasNpx ? "" : skipped}`, () => {
  const half = (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1);
  test.each([
    ["breaks off", (bytes: Buffer) => ({ body: half(bytes), length: bytes.length })],
    ["was cut to half", (bytes: Buffer) => ({ body: half(bytes), length: bytes.length >> 1 })],
    [
      "has one other bit",
      (bytes: Buffer) => {
        const body = Buffer.from(bytes);
        body[body.length >> 1]! ^= 1;
        return { body, length: body.length };
      },
    ],
  ])("runs nothing when it %s", async (_what, damage) => {
    await using stack = new AsyncDisposableStack();
    const { body, length } = damage(Buffer.from(await program));
    const server = createServer((_request, response) => {
      response.writeHead(200, { "content-length": length });
      response.write(body, () => {
        if (body.length < length) response.destroy();
        else response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    stack.defer(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const user = await bareNpm(stack.use(await temporaryFolder()).path);
    const result = await runCommand(
      "env",
      [
        ...["-i", ...Object.entries(user).map(([name, value]) => `${name}=${value}`)],
        ...["sh", "-c", `npx -y http://127.0.0.1:${port}/roomhub.tgz --version`],
      ],
      buildMs,
    );
    expect(result.exitCode).not.toBe(0);
    expect(result.stdout).toBe("");
    expect(result.stderr).toContain("npm error");
  });

  const program = hasNpx
    ? buildPackage().then((built) => built.program)
    : Promise.resolve(new Uint8Array());
});

describe.skipIf(!hasNpx)("the line of a sealed hub", () => {
  const pair = testCertificate({ names: ["roomhub"] });
  const pin = pinOf(pair);

  /** @returns what the line said, and whether it ran what it got */
  async function runLine(mode: Middle["mode"]) {
    await using stack = new AsyncDisposableStack();
    const program = async () => (await buildPackage()).program;
    const handout = { program, sdk: program, monitor: async () => new Map() };
    const hub = stack.use(await startTestHub({ tls: pair, handout }));
    const middle = stack.use(await startMiddle(hub.port));
    middle.mode = mode;
    const folder = stack.use(await temporaryFolder()).path;
    const user = await bareNpm(folder);
    const hubUrl = `http://127.0.0.1:${middle.port}`;
    const line = programLine({ hubUrl, isHandedOut: true, pin });
    const result = await runCommand(
      "env",
      [
        ...["-i", ...Object.entries(user).map(([name, value]) => `${name}=${value}`)],
        ...["sh", "-c", `cd "$HOME" && ${line} --version`],
      ],
      buildMs,
    );
    return { ...result, ...middle };
  }

  test("runs the program that came over TLS with the pinned key", async () => {
    const { stdout, exitCode, read, wire } = await runLine("honest");
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
    expect(read).toEqual([]);
    expect(Buffer.concat(wire).toString("latin1")).not.toContain("GET /roomhub.tgz");
  });

  test.each(["attacking", "stripping"] as const)(
    "requests nothing and runs nothing with an attacker in between: %s",
    async (mode) => {
      const { stdout, stderr, exitCode, read } = await runLine(mode);
      expect([exitCode === 0, stdout]).toEqual([false, ""]);
      expect(stderr).toMatch(mode === "attacking" ? /does not match pinned public key/ : /SSL/);
      expect(read.join("")).not.toMatch(/GET|HTTP/);
    },
  );
});

function digestIn({ output }: Program): string | undefined {
  return /SHA-512 .*: ([0-9a-f]{128})/.exec(output)?.[1];
}
