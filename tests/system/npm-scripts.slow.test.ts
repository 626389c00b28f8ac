import { expect, test } from "vitest";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { until } from "../support/waiting.ts";

test("SIGTERM to npm start ends the program, and its port is free", async () => {
  const npmStart = ["npm", "start", "--silent", "--"] as const;
  const args = ["--port", "0", "--ephemeral", "--no-mdns", "--no-monitor"];
  await using npm = startRoomhub(args, {}, "json", npmStart);
  const { hubUrl } = await npm.line("where the hub is", (line) => "hubUrl" in line);
  const isListening = () =>
    fetch(`${String(hubUrl)}/health`).then(
      () => true,
      () => false,
    );
  expect(await isListening()).toBe(true);
  process.kill(npm.pid, "SIGTERM");
  await until("its port is free", isListening, (is) => !is);
});

test("npm run test:real loads every test on a machine without a llama-server", async () => {
  const without = ["-u", "LLAMA_SERVER", "NO_COLOR=1"];
  const run = ["npm", "run", "--silent", "test:real"];
  const { exitCode, stdout } = await runCommand("env", [...without, ...run], 100_000);
  expect(stdout).toMatch(/Tests +(\d+) skipped \(\1\)/);
  expect(exitCode).toBe(0);
});
