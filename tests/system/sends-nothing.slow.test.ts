import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { hearsMulticast } from "../support/programs/multicast.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const launcher = fileURLToPath(new URL("../../packages/cli/bin/roomhub.js", import.meta.url));
const recorder = new URL("../support/programs/record-dials.mjs", import.meta.url).href;
const isHeard = await hearsMulticast();

/** What programs with these variables send, to whom. */
async function recordedDials(stack: AsyncDisposableStack) {
  const { path } = stack.use(await temporaryFolder());
  const file = join(path, "dials");
  await writeFile(file, "");
  return {
    env: {
      NODE_OPTIONS: `--import=${recorder}`,
      RECORDED_DIALS: file,
      XDG_STATE_HOME: path,
      ROOMHUB_URL: "",
    },
    /** each once, sorted */
    async all(): Promise<string[]> {
      const lines = (await readFile(file, "utf8")).split("\n");
      return [...new Set(lines.filter((line) => line !== ""))].toSorted();
    },
  };
}

test("a hub and a participant connect to each other and to the model server, and ask for no name", async () => {
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(await startFakeProvider());
  const dials = await recordedDials(stack);

  await using hub = startRoomhub(["serve", "--port", "0"], dials.env);
  const { url } = await hub.line("where it listens", (line) => "url" in line);
  const hubUrl = String(url);
  const command = (...args: string[]) =>
    runCommand("env", [
      ...Object.entries(dials.env).map(([name, value]) => `${name}=${value}`),
      ...[process.execPath, launcher, ...args],
    ]);
  const created = await command("room", "create", "lab", "--hub", hubUrl);
  const invite = `${hubUrl}/rooms/${created.stdout.trim()}`;
  const model = ["--endpoint", provider.url, "--model", "fake-model"];
  await using participant = startRoomhub(["join", invite, ...model], dials.env);
  await participant.line("that it is connected", ({ kind }) => kind === "connected");

  const { choices } = await openaiAt(`${invite}/v1`).chat.completions.create({
    model: "*",
    messages: userSays("to nobody else"),
  });
  expect(choices[0]?.message.content).toBe("to nobody else");
  for (const args of [
    ["chat", "--room", invite, "Hello"],
    ["models", invite],
    ["health", invite],
  ]) {
    expect((await command(...args)).exitCode).toBe(0);
  }
  await participant.kill("SIGTERM");
  await hub.kill("SIGTERM");

  const places = [new URL(hubUrl), new URL(provider.url)].map(({ host }) => `tcp ${host}`);
  expect(await dials.all()).toEqual(["run node", ...places].toSorted());
});

test("up asks the usual ports of model servers on this machine, with --lan also the network's multicast group", async () => {
  await using stack = new AsyncDisposableStack();
  const dials = await recordedDials(stack);
  await using host = startRoomhub(["up", "--lan", "--port", "0"], dials.env);
  const { hubUrl } = await host.line("that it is ready", (line) => "hubUrl" in line);
  await host.kill("SIGTERM");

  const isNear = (dial: string) =>
    /^tcp 127\.0\.0\.1:\d+$/.test(dial) || dial === `tcp ${new URL(String(hubUrl)).host}`;
  const others = (await dials.all()).filter((dial) => !isNear(dial));
  const multicast = others.filter((dial) => /^udp (?:224\.0\.0\.251|ff02::fb.*):5353$/.test(dial));
  expect(others).toEqual(["run node", ...multicast].toSorted());
  expect(multicast.length > 0).toBe(isHeard);
});
