import { spawnSync } from "node:child_process";
import { createReadStream, createWriteStream, readFileSync } from "node:fs";
import OpenAI from "openai";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { longestWaitMs, until } from "../support/waiting.ts";

const buildScript = fileURLToPath(new URL("../../scripts/bundle/build.ts", import.meta.url));
const requests = 1_000_000;
const mostBytes = 180 * 1024 * 1024;

// Only Linux says how much memory a process had at most.
test.skipIf(process.platform !== "linux")(
  "the installed command checks and sends a million requests with at most 180 MiB of memory",
  async () => {
    await using million = await startMillion();
    const { file, provider, start } = million;
    await using command = start(["batch", file]);
    await until(
      "results",
      () => provider.requests.length,
      (length) => length > 2_000,
      4 * longestWaitMs,
    );
    const bytes = mostMemoryOf(command.pid);
    expect(bytes).toBeGreaterThan(40 * 1024 * 1024);
    expect(bytes).toBeLessThanOrEqual(mostBytes);
  },
);

test.skipIf(process.platform !== "linux")(
  "the installed batch serve takes, begins and cancels a million requests with at most 180 MiB of memory",
  async () => {
    await using million = await startMillion();
    const { file, batches, start } = million;
    await using command = start(["batch", "serve", "--dir", batches, "--port", "0", "--json"]);
    const { baseUrl, apiKey } = await command.line("its base URL", (line) => "baseUrl" in line);
    const openai = new OpenAI({ baseURL: String(baseUrl), apiKey: String(apiKey) });
    const { id: input } = await openai.files.create({
      ...{ purpose: "batch", file: createReadStream(file) },
    });
    const { id } = await openai.batches.create({
      ...{ input_file_id: input, endpoint: "/v1/chat/completions", completion_window: "24h" },
    });
    const counted = (what: "completed" | "failed", count: number) =>
      until(
        `${count} ${what}`,
        () => openai.batches.retrieve(id),
        ({ request_counts: counts }) => (counts?.[what] ?? 0) >= count,
        2 * longestWaitMs,
      );
    await counted("completed", 100);
    await openai.batches.cancel(id);
    await counted("failed", 50_000);
    expect(mostMemoryOf(command.pid)).toBeLessThanOrEqual(mostBytes);
  },
);

/** The installed program, a file of a million requests, and a room with the model that they are for. */
async function startMillion() {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryFolder());
  const program = installIn(path);
  const file = join(path, "evals.jsonl");
  await pipeline(Readable.from(lines()), createWriteStream(file));
  const provider = stack.use(await startFakeProvider());
  const hub = stack.use(await startTestHub());
  const code = await hub.createRoom();
  stack.use(await joinTunnel(hub, code, { endpoint: provider.url, model: "fake-model" }));
  const start = (args: readonly string[]) => {
    const inRoom = [...args, "--room", `${hub.url}/rooms/${code}`];
    const env = { XDG_STATE_HOME: path };
    return startRoomhub(inRoom, env, "json", [process.execPath, program]);
  };
  const kept = stack.move();
  const dispose = () => kept.disposeAsync();
  return { file, batches: join(path, "batches"), provider, start, [Symbol.asyncDispose]: dispose };
}

/** @returns the installed program */
function installIn(folder: string): string {
  const args = ["--conditions=@roomhub/source", buildScript, folder];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", cwd: folder });
  if (status !== 0) throw new Error(stderr);
  return join(folder, "roomhub", "bin", "roomhub.js");
}

function* lines(): Generator<string> {
  const question = "Is this review positive or negative? Answer with one word. ".repeat(2);
  const perPart = 1_000;
  for (let first = 0; first < requests; first += perPart) {
    let part = "";
    for (let number = first; number < first + perPart; number++) {
      part += `{"custom_id":"request-${number}","method":"POST","url":"/v1/chat/completions","body":{"model":"fake-model","messages":[{"role":"user","content":"${question}${number}"}]}}\n`;
    }
    yield part;
  }
}

/** Of the command, or of the process that its launcher started. */
function mostMemoryOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  const pids = [
    pid,
    ...children
      .split(" ")
      .filter((text) => text !== "")
      .map(Number),
  ];
  const kilobytes = pids.map((each) =>
    Number(/^VmHWM:\s*(\d+) kB/m.exec(readFileSync(`/proc/${each}/status`, "utf8"))?.[1]),
  );
  return Math.max(...kilobytes) * 1024;
}
