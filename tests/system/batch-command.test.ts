import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemWorld } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { createClient, openDoor } from "../../packages/cli/src/capabilities.ts";
import { makeWorld } from "../../packages/cli/src/test-context.fixture.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { type FakeProvider, startFakeProvider } from "../support/providers/fake-provider.ts";

function requestLine(id: string, model = "fake-model"): string {
  const body = { model, messages: [{ role: "user", content: id }] };
  return `${JSON.stringify({ custom_id: id, method: "POST", url: "/v1/chat/completions", body })}\n`;
}

/** The command in this process, with a file of requests and a room that serves `fake-model`. */
async function startLab(input: string, provider: FakeProvider) {
  const folder = await temporaryFolder();
  const hub = await startTestHub();
  const code = await hub.createRoom();
  const ada = await joinTunnel(hub, code, {
    id: "ada",
    endpoint: provider.url,
    model: "fake-model",
  });
  const file = join(folder.path, "evals.jsonl");
  writeFileSync(file, input);
  return {
    ...{ hub, code, file, folder: folder.path },
    async run(...args: string[]) {
      const fetching = (url: string, init: RequestInit) => fetch(url, init);
      const world = makeWorld({ world: systemWorld, fetch: fetching, createClient });
      const exitCode = await world.run("batch", file, "--room", roomUrl(hub, code), ...args);
      return { exitCode, stdout: world.stdout.text, stderr: world.stderr.text };
    },
    async [Symbol.asyncDispose]() {
      await ada[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const roomUrl = ({ url }: TestHub, code: string) => `${url}/rooms/${code}`;

test("results are beside the input, the summary is on stdout, and all succeeded: 0", async () => {
  await using provider = await startFakeProvider();
  await using lab = await startLab(requestLine("a") + requestLine("b"), provider);
  const { exitCode, stdout, stderr } = await lab.run();
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^2 of 2 results in .*evals\.output\.jsonl\nnow 2 in .*: ada 100 %\n$/);
  expect(stderr).toContain("2 requests to /v1/chat/completions of room");
  const lines = readFileSync(join(lab.folder, "evals.output.jsonl"), "utf8").trim().split("\n");
  expect(lines).toHaveLength(2);
  expect(existsSync(join(lab.folder, "evals.errors.jsonl"))).toBe(false);
});

test("some failed: 6, and the error says how to send them again", async () => {
  await using provider = await startFakeProvider({
    behave: ({ body }) =>
      body.includes('"b"') ? { kind: "status", status: 422, body: {} } : undefined,
  });
  await using lab = await startLab(requestLine("a") + requestLine("b"), provider);
  const output = join(lab.folder, "o.jsonl");
  const errors = join(lab.folder, "e.jsonl");
  const named = ["--output", output, "--errors", errors] as const;
  const { exitCode, stdout, stderr } = await lab.run(...named, "--json");
  expect(exitCode).toBe(6);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ end: "finished", total: 2, completed: 1, failed: 1, output, errors },
    byParticipant: { ada: 2 },
  });
  expect(stderr).toContain("1 request failed");
  expect(stderr).toContain(`to send them again, delete ${errors} and run the same command`);
  expect((await lab.run(...named)).exitCode).toBe(6);
});

test("a file that cannot be sent is an error of the command line, with its first lines, and nothing is sent", async () => {
  await using provider = await startFakeProvider();
  await using lab = await startLab(`${requestLine("a")}{\n${requestLine("a")}`, provider);
  for (const args of [[], ["--dry-run"]]) {
    const { exitCode, stderr } = await lab.run(...args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("has 2 problems. Nothing was sent");
    expect(stderr).toContain("  line 2 is not JSON\n");
    expect(stderr).toContain('  line 3 has the custom_id of an earlier line: "a"\n');
  }
  expect(provider.requests.filter(({ body }) => body.includes('"a"'))).toEqual([]);
});

test("a dry run says what would be sent, and which models the room lacks", async () => {
  await using provider = await startFakeProvider();
  await using lab = await startLab(requestLine("a") + requestLine("b", "gpt-9"), provider);
  const { exitCode, stdout } = await lab.run("--dry-run");
  expect(exitCode).toBe(0);
  expect(stdout).toBe(
    `2 requests to /v1/chat/completions, 1 of 2 models in room ${lab.code}. Nothing was sent.\nnot in the room: gpt-9\n`,
  );
  expect(JSON.parse((await lab.run("--dry-run", "--json")).stdout)).toMatchObject({
    requests: 2,
    models: [
      { model: "fake-model", isInRoom: true },
      { model: "gpt-9", isInRoom: false },
    ],
  });
  expect(existsSync(join(lab.folder, "evals.output.batch.json"))).toBe(false);
});

test("a room without any model of the file is an error before anything is written", async () => {
  await using provider = await startFakeProvider();
  await using lab = await startLab(requestLine("a", "gpt-9"), provider);
  const { exitCode, stderr } = await lab.run();
  expect(exitCode).toBe(3);
  expect(stderr).toContain("has no model of");
  expect(stderr).toContain("  gpt-9\n");
  expect(existsSync(join(lab.folder, "evals.errors.jsonl"))).toBe(false);
});

test.skipIf(!existsSync("/dev/full")).each([
  ["full", (output: string) => symlinkSync("/dev/full", output), "free space on its disk"],
  ["of another kind", (output: string) => mkdirSync(output), "make it writable"],
])(
  "a file of results that is %s ends the command with the reason and the next step, and the same command continues",
  async (_what, spoil, repair) => {
    let output = "";
    let isSpoilt = false;
    await using provider = await startFakeProvider({
      behave: ({ body }) => {
        if (body.includes('"a"') && !isSpoilt) spoil(output);
        isSpoilt ||= body.includes('"a"');
        return undefined;
      },
    });
    await using lab = await startLab(requestLine("a"), provider);
    output = join(lab.folder, "o.jsonl");
    const { exitCode, stderr } = await lab.run("--output", output);
    expect(stderr).toContain(`error: ${output} cannot be written: E`);
    expect(stderr).toContain(`→ ${repair}, then run the same command\n`);
    expect(exitCode).toBe(1);
    rmSync(output, { recursive: true });
    expect((await lab.run("--output", output)).exitCode).toBe(0);
    expect(readFileSync(output, "utf8").trim().split("\n")).toHaveLength(1);
  },
);

test("a hub that is away at the start is waited for, with one line that says so", async () => {
  await using provider = await startFakeProvider();
  await using lab = await startLab(requestLine("a"), provider);
  let isThere = false;
  const fetching: typeof fetch = (url, init) =>
    isThere ? fetch(url, init) : Promise.reject(new TypeError("fetch failed"));
  const world = makeWorld({ world: systemWorld, fetch: fetching, createClient });
  const running = world.run("batch", lab.file, "--room", roomUrl(lab.hub, lab.code));
  await expect.poll(() => world.stderr.text).toContain("Waiting for it; Ctrl+C stops\n");
  isThere = true;
  expect(await running).toBe(0);
  expect(world.stderr.text.match(/is unreachable/g)).toHaveLength(1);
  expect(world.stdout.text).toContain("1 of 1 results");
});

test("batch serve stops with the first signal, also when a WebSocket at its door stays open", async () => {
  await using provider = await startFakeProvider();
  await using lab = await startLab("", provider);
  const world = makeWorld({
    ...{ fetch: (url: string, init: RequestInit) => fetch(url, init), createClient, openDoor },
    world: {
      ...systemWorld,
      setTimeout: (task, ms) => systemWorld.setTimeout(task, ms === 10_000 ? 0 : ms),
    },
  });
  const served = world.run(
    "batch",
    "serve",
    "--room",
    roomUrl(lab.hub, lab.code),
    "--port",
    "0",
    "--dir",
    lab.folder,
  );
  await expect.poll(() => world.stdout.text).toContain("OPENAI_API_KEY=");
  const [baseUrl = "", apiKey] = world.stdout.text.match(/(?<==).*/g) ?? [];
  const headers = { authorization: `Bearer ${apiKey}` };
  const socket = new WebSocket(`${baseUrl.replace("http", "ws")}/responses`, { headers });
  await once(socket, "open");
  const closed = once(socket, "close");
  world.stop("SIGTERM");
  expect(await served).toBe(0);
  await closed;
});

test("a hub that is away ends a dry run, and a batch for which none is named", async () => {
  const world = makeWorld({
    fetch: () => Promise.reject(new TypeError("fetch failed")),
    createClient,
  });
  expect(
    await world.run(
      "batch",
      "evals.jsonl",
      "--room",
      "http://127.0.0.1:9/rooms/ABC234",
      "--dry-run",
    ),
  ).toBe(5);
  expect(await world.run("batch", "evals.jsonl")).toBe(5);
});

test.each([
  ["--until", "7", "Must be a time of the day, such as 07:00."],
  ["--until", "24:00", "Must be a time of the day, such as 07:00."],
  ["--concurrency", "0", "Must be a whole number of at least 1."],
  ["--concurrency", "all", "Must be a whole number of at least 1."],
  ["--max-attempts", "0", "Must be a whole number of at least 1."],
])("%s %s is refused", async (option, value, problem) => {
  const world = makeWorld();
  expect(await world.run("batch", "evals.jsonl", option, value)).toBe(2);
  expect(world.stderr.text).toContain(problem);
});
