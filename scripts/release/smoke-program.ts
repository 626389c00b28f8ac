// Whether a program is roomhub, however it was packed: `--version`, every command's help, a hub, a participant, a request,
// `doctor`, and an end without an error.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { startFakeProvider } from "../../tests/support/providers/fake-provider.ts";
import { startRoomhub } from "../../tests/support/programs/roomhub-process.ts";

const execute = promisify(execFile);
const longestCommandMs = 60_000;

export interface SmokeOptions {
  /** What is started, such as Node and the launcher, or one executable. */
  program: readonly [string, ...string[]];
  version: string;
  /** Added to this process's environment. */
  env?: Record<string, string>;
  /** SHA-512 of the tarball that its hub has to hand out, in hexadecimal; not requested when left out. */
  handout?: string;
}

/** @throws with what the program wrote, when one of them does not work */
export async function smokeProgram(options: SmokeOptions): Promise<void> {
  const { program, version, env = {} } = options;
  const [command, ...first] = program;
  const run = async (...args: string[]) => {
    const { stdout } = await execute(command, [...first, ...args], {
      env: { ...process.env, ...env },
      timeout: longestCommandMs,
    });
    return stdout.trim();
  };
  equal("--version", await run("--version"), version);
  await loadEveryCommand(run);

  await using provider = await startFakeProvider();
  const start = (...args: string[]) => startRoomhub(args, env, "json", program);
  await using hub = start("serve", "--port", "0", "--ephemeral", "--no-mdns");
  const { url } = (await hub.line("its address", (line) => "url" in line)) as { url: string };
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    info: { version: string };
  };
  equal("the version in its OpenAPI document", document.info.version, version);
  await checkMonitor(url);
  if (options.handout !== undefined) await checkHandout(url, options.handout);

  const { room } = JSON.parse(await run("room", "create", "smoke", "--hub", url, "--json")) as {
    room: { code: string };
  };
  const address = `${url}/rooms/${room.code}`;
  await using participant = start(
    ...["join", address, "--endpoint", provider.url, "--model", "fake-model"],
  );
  await participant.line("that it is connected", ({ kind }) => kind === "connected");
  equal("the response", await request(address, "through the package"), "through the package");
  await run("doctor", address);
  // Written by pino, which is loaded for a log in JSON alone.
  await hub.line("the request in the hub's log", (line) => line["participantId"] !== undefined);
  await participant.kill("SIGTERM");
  await hub.kill("SIGTERM");
}

/** Each command's code is a chunk of its own, which its help loads. */
async function loadEveryCommand(run: (...args: string[]) => Promise<string>): Promise<void> {
  const [, list = ""] = (await run("--help")).split("\nShare:\n");
  const names = [...list.matchAll(/^ {2}([a-z]\w*)/gm)].map(([, name = ""]) => name);
  if (names.length < 15) throw new Error(`its help lists ${names.length} commands`);
  for (const name of names) {
    const help = await run(name, "--help");
    if (!help.startsWith("Usage: roomhub ")) throw new Error(`${name} --help printed: ${help}`);
  }
}

/** The page, and each file that it names. */
async function checkMonitor(url: string): Promise<void> {
  const page = await fetch(`${url}/monitor/`);
  const text = await page.text();
  equal("the status of the monitor", String(page.status), "200");
  const names = [...text.matchAll(/(?:src|href)="\.?\/?(assets\/[^"]+)"/g)].map(([, name]) => name);
  if (names.length < 2) throw new Error(`the monitor names ${names.length} files: ${text}`);
  for (const name of names) {
    const { status } = await fetch(`${url}/monitor/${name}`);
    equal(`the status of ${name}`, String(status), "200");
  }
}

async function checkHandout(url: string, expected: string): Promise<void> {
  const response = await fetch(`${url}/roomhub.tgz`);
  const body = Buffer.from(await response.arrayBuffer());
  equal("the status of the handout", String(response.status), "200");
  equal("the handout", createHash("sha512").update(body).digest("hex"), expected);
}

async function request(address: string, content: string): Promise<string | undefined> {
  const response = await fetch(`${address}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "fake-model", messages: [{ role: "user", content }] }),
  });
  const body = (await response.json()) as { choices?: { message: { content: string } }[] };
  return body.choices?.[0]?.message.content;
}

function equal(what: string, actual: string | undefined, expected: string): void {
  if (actual !== expected) throw new Error(`${what} is ${actual}, not ${expected}`);
}
