import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { RoomhubClient } from "@roomhub/client";
import { expect, test } from "vitest";
import { createProgram } from "../../packages/cli/src/program.ts";
import { makeWorld } from "../../packages/cli/src/test-context.fixture.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import { brokenLinks, readGuides, root, shellLines, shellWords } from "../support/guide.ts";
import { joinTunnel } from "../support/joining.ts";
import { freePort, hasNginx, startNginx } from "../support/nginx.ts";
import { openaiAt, userSays } from "../support/openai-client.ts";
import { startProgram } from "../support/program.ts";
import { runCommand } from "../support/run-command.ts";
import { startTestHub } from "../support/start-test-hub.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/waiting.ts";

const guides = readGuides();
const launcher = join(root, "packages/cli/bin/roomhub.js");
/** As all guides spell it. */
const writtenInvite = "http://192.168.1.5:5050/rooms/ABC234";

test("every roomhub command in a guide is one the command line understands", () => {
  const seen: string[] = [];
  for (const guide of guides) {
    for (const line of shellLines(guide)) {
      const [, given] = /\bnpx roomhub (.*?)(?:\)"?)?(?:\s+#.*)?$/.exec(line) ?? [];
      if (given === undefined) continue;
      seen.push(given);
      expect(misunderstood(shellWords(given)), `${guide.path}: ${line}`).toEqual([]);
    }
  }
  expect(seen.length).toBeGreaterThan(10);
  expect(misunderstood(["join", "ABC234", "--all-modles"])).toEqual(["--all-modles"]);
  expect(misunderstood(["jion"])).toEqual(["jion"]);
  expect(misunderstood(["env"])).toEqual(["0 arguments"]);
});

/** What of a command line its program does not know. Nothing is run. */
function misunderstood(words: readonly string[]): string[] {
  let command: ReturnType<typeof createProgram> = createProgram(makeWorld().context);
  let rest = [...words];
  while (command.commands.length > 0) {
    const [name = ""] = rest;
    const child = command.commands.find((one) => one.name() === name);
    if (child === undefined) return [name];
    command = child;
    rest = rest.slice(1);
  }
  const { operands, unknown } = command.parseOptions(rest);
  const isTooFew =
    operands.length < command.registeredArguments.filter((one) => one.required).length;
  const isTooMany = operands.length > command.registeredArguments.length;
  return isTooFew || isTooMany ? [...unknown, `${operands.length} arguments`] : unknown;
}

test("every curl line of a guide that asks a room is answered", async () => {
  await using hub = await startTestHub();
  await using provider = await startFakeProvider({ model: "llama3.2" });
  const code = await hub.createRoom();
  await using _ben = await joinTunnel(hub, code, { endpoint: provider.url, model: "llama3.2" });
  const lines = guides.flatMap(shellLines).filter((line) => /^curl .*192\.168\.1\.5/.test(line));
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) {
    if (line.includes("/events")) continue; // never ends
    const command = line
      .replace(/^curl /, "curl -sS --fail-with-body ")
      .replaceAll(/http:\/\/192\.168\.1\.5:5050\/rooms\/\w+/g, `${hub.url}/rooms/${code}`)
      .replaceAll("https://api.example.com/v1", provider.url);
    const { exitCode, stdout, stderr } = await runCommand("bash", ["-c", command]);
    expect([exitCode, stderr], `${line}\n${stdout}`).toEqual([0, ""]);
    if (line.includes('"stream":true')) expect(stdout).toContain("data: [DONE]");
    else expect((JSON.parse(stdout) as { error?: unknown }).error ?? null).toBeNull();
  }
});

test("the quickstart: one command and one paste to the first streamed token, one more for a friend", async () => {
  await using folder = await temporaryFolder();
  await using ollama = await startFakeProvider({ model: "llama3.2" });
  const nobody = { OLLAMA_HOST: "127.0.0.1:9", XDG_STATE_HOME: folder.path };
  await using host = startProgram(
    process.execPath,
    [launcher, "up", "--port", "0", "--ephemeral"],
    nobody,
  );
  await host.says(/Requests appear here/);
  const [curl = ""] = /curl -N .*/.exec(host.output) ?? [];
  const asked = await runCommand("bash", ["-c", curl]);
  expect(asked.stdout).toMatch(/^data: \{.*\n/);
  expect(asked.stdout).toContain("data: [DONE]");

  const [invite = ""] = /http:\/\/\S+\/rooms\/\w+$/m.exec(host.output) ?? [];
  await using friend = startProgram(process.execPath, [launcher, "join", invite], {
    OLLAMA_HOST: `127.0.0.1:${ollama.port}`,
  });
  await friend.says(/connected/);
  await runCommand("bash", ["-c", curl.replace('"*"', '"llama3.2"')]);
  expect(ollama.requests.at(-1)?.json).toMatchObject({ model: "llama3.2", stream: true });
  await friend.says(/chat\/completions .*\bok\b/);
  expect(await friend.stop("SIGINT")).toBe(0);
  expect(await host.stop("SIGINT")).toBe(0);
});

test("the clients' guide: `roomhub env` sets what OpenAI programs read", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const line = guides.flatMap(shellLines).find((one) => one.startsWith("eval "));
  const command = `npx() { shift; '${process.execPath}' '${launcher}' "$@"; }
${line?.replace(writtenInvite, `${hub.url}/rooms/${code}`)}
echo "$OPENAI_BASE_URL $OPENAI_API_KEY"`;
  const { stdout, stderr } = await runCommand("bash", ["-c", command]);
  expect(stderr).toBe("");
  expect(stdout).toMatch(new RegExp(`^${hub.url}/rooms/${code}/v1 \\S+$`, "m"));
});

test("the programs and links a guide names are there, and the jury is printed as it runs", () => {
  expect(
    guides.flatMap((guide) => brokenLinks(guide).map((link) => `${guide.path}: ${link}`)),
  ).toEqual([]);
  const named = guides.flatMap(shellLines).flatMap((line) => line.match(/\bexamples\/\S+/g) ?? []);
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const jury = readFileSync(join(root, "examples/jury.ts"), "utf8");
  const printed = guides.flatMap(({ blocks }) => blocks).map(({ text }) => text);
  expect(printed).toContain(jury);
});

test("JSON settings in a guide are JSON", () => {
  const settings = guides.flatMap(({ blocks }) =>
    blocks.filter(({ language }) => language === "json"),
  );
  expect(settings.length).toBeGreaterThan(0);
  for (const { text } of settings) expect(() => JSON.parse(text) as unknown, text).not.toThrow();
});

test.skipIf(!hasNginx)(
  `behind the guide's nginx: tunnel, streams, large prompts, events${hasNginx ? "" : " (skipped: nginx is not installed here)"}`,
  async () => {
    await using stack = new AsyncDisposableStack();
    const port = await freePort();
    const publicUrl = `http://127.0.0.1:${port}`;
    const hub = stack.use(
      await startTestHub({ publicUrl, trustProxy: ["127.0.0.1/32", "::1/128"] }),
    );
    await startNginx(guidesNginx(port, hub.url), stack);
    const client = new RoomhubClient({ hubUrl: publicUrl });
    await until(
      "nginx to answer",
      () => client.health().catch(() => undefined),
      (health) => health?.status === "ok",
    );
    const { room } = await client.createRoom({ name: "lab" });
    const provider = stack.use(await startFakeProvider());
    stack.use(await joinTunnel({ url: publicUrl }, room.code, { endpoint: provider.url }));
    expect(await client.getParticipant(room.code, "ada")).toMatchObject({
      connection: { path: "tunnel" },
    });
    const openai = openaiAt(client.baseUrl(room.code));
    const pieces: string[] = [];
    for await (const chunk of await openai.chat.completions.create({
      model: "*",
      messages: userSays("to be or not"),
      stream: true,
    })) {
      pieces.push(chunk.choices[0]?.delta.content ?? "");
    }
    expect(pieces.join("")).toBe("to be or not");
    const long = "a".repeat(8 * 1024 * 1024);
    const { choices } = await openai.chat.completions.create({
      model: "*",
      messages: userSays(long),
    });
    expect(choices[0]?.message.content === long).toBe(true);
    const watching = new AbortController();
    const completions: string[] = [];
    for await (const event of client.events(room.code, {
      signal: watching.signal,
      onOpen: () => {
        const asking = openai.chat.completions.create({ model: "*", messages: userSays("hi") });
        asking.catch((error: unknown) => watching.abort(error));
      },
    })) {
      if (event.type !== "llm.complete") continue;
      completions.push(event.model);
      break;
    }
    expect(completions).toEqual(["fake-model"]);
  },
);

/** The guide's own, without its certificate, on a port of its own. */
function guidesNginx(port: number, hubUrl: string): string {
  const blocks = guides.flatMap(({ blocks }) => blocks);
  const block = blocks.find(({ language }) => language === "nginx")?.text ?? "";
  return block
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_.*\n/gm, "")
    .replace("http://127.0.0.1:5050", hubUrl);
}
