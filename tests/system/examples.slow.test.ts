import { join } from "node:path";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createParticipant } from "@roomhub/participant";
import { describe, expect, test } from "vitest";
import { type FakeProviderOptions, startFakeProvider } from "../support/providers/fake-provider.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { missingInPython } from "../support/programs/python.ts";
import { startRoomhub } from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startProgram } from "../support/programs/program.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";

const argumentsFor = (example: string, args: readonly string[]) => [
  "--conditions=@roomhub/source",
  fileURLToPath(new URL(`../../examples/${example}.ts`, import.meta.url)),
  ...args,
];

async function run(example: string, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(
    process.execPath,
    argumentsFor(example, args),
  );
  expect(stderr).toBe("");
  expect(exitCode).toBe(0);
  return stdout;
}

/** A room whose one participant repeats its input. */
async function startRoom(options: FakeProviderOptions = {}) {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub());
  const provider = stack.use(await startFakeProvider(options));
  const code = await hub.createRoom();
  stack.use(await joinTunnel(hub, code, { endpoint: provider.url }));
  const owned = stack.move();
  return {
    hub,
    provider,
    code,
    invite: `${hub.url}/rooms/${code}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

test("openai-sdk.ts streams a response", async () => {
  await using room = await startRoom();
  expect(await run("openai-sdk", room.invite, "to be or not")).toBe("to be or not\n");
  expect(room.provider.requests.at(-1)?.json).toMatchObject({ stream: true });
});

test("ai-sdk.ts streams a response and prints its tokens", async () => {
  await using room = await startRoom();
  expect(await run("ai-sdk", room.invite, "to be or not")).toBe(
    "to be or not\n(4 tokens in, 4 out)\n",
  );
});

test("anthropic-sdk.ts streams a response of a participant that has /messages", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const asked: string[] = [];
  await using participant = createParticipant({
    hubUrl: hub.url,
    room: code,
    id: "ada",
    nickname: "Ada",
    model: "m",
    capabilities: { messages: "supported" },
    serve: (request) => {
      asked.push(new URL(request.url).pathname);
      return new Response(ANTHROPIC_STREAM, { headers: { "content-type": "text/event-stream" } });
    },
    env: {},
  });
  await participant.start();
  expect(await run("anthropic-sdk", `${hub.url}/rooms/${code}`)).toBe("Light scatters.\n");
  expect(asked).toEqual(["/v1/messages"]);
});

test("jury.ts sends the question to every participant, lets one judge, and continues when a juror fails", async () => {
  await using room = await startRoom();
  await using broken = await startFakeProvider({ behave: () => ({ kind: "status", status: 500 }) });
  await using _alan = await joinTunnel(room.hub, room.code, {
    id: "alan",
    nickname: "Alan",
    endpoint: broken.url,
  });
  const output = await run("jury", room.invite, "Is a tomato a fruit?");
  const [first, second, , verdict] = output.split("\n");
  expect(first).toBe("1. ada: Is a tomato a fruit?");
  expect(second).toMatch(/^2\. alan: \(failed: .+\)$/);
  expect(verdict).toBe("Ada judges: Is a tomato a fruit?");
  expect(output).toMatch(/Answer 1:\nIs a tomato a fruit\?\n\nAnswer 2:\n\(failed/);
});

test("watch-events.ts has a line for what happens, and ends on Ctrl+C", async () => {
  await using room = await startRoom();
  await using program = startProgram(process.execPath, argumentsFor("watch-events", [room.invite]));
  await program.says(/watching lab/);
  const openai = openaiAt(`${room.invite}/v1`);
  await openai.chat.completions.create({ model: "ada", messages: userSays("one two") });
  await program.says(/fake-model: 2 tokens, first after [\d.]+ of [\d.]+ ms/);
  await openai.chat.completions
    .create({ model: "nobody", messages: userSays("one two") })
    .catch(() => undefined);
  await program.says(/nobody: .+ \(model_not_found\)/);
  await using _alan = await joinTunnel(room.hub, room.code, {
    id: "alan",
    nickname: "Alan",
    endpoint: room.provider.url,
  });
  await program.says(/Alan brings fake-model/);
  await room.hub.client.leave(room.code, "alan", {});
  await program.says(/Alan is no longer available/);
  expect(await program.stop("SIGINT")).toBe(0);
});

test("embed-participant.ts serves chat, streams and responses, and leaves on Ctrl+C", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const invite = `${hub.url}/rooms/${code}`;
  await using program = startProgram(process.execPath, argumentsFor("embed-participant", [invite]));
  await program.says(/parrot-1 is in the room/);
  const openai = openaiAt(`${invite}/v1`);
  const completion = await openai.chat.completions.create({
    model: "parrot-1",
    messages: userSays("pretty bird"),
  });
  expect(completion.choices[0]?.message.content).toBe("pretty bird");
  const pieces: string[] = [];
  for await (const chunk of await openai.chat.completions.create({
    model: "parrot-1",
    messages: userSays("pretty bird"),
    stream: true,
  })) {
    pieces.push(chunk.choices[0]?.delta.content ?? "");
  }
  expect(pieces).toEqual(["pretty ", "bird", ""]);
  const response = await openai.responses.create({ model: "parrot-1", input: "pretty bird" });
  expect(response.output_text).toBe("pretty bird");
  expect(await program.stop("SIGINT")).toBe(0);
  expect(await hub.client.listParticipants(code)).toEqual([]);
});

test("capped-cloud-model.ts adds the key, caps each response, and shows neither key nor endpoint", async () => {
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const invite = `${hub.url}/rooms/${code}`;
  await using cloud = await startFakeProvider({ apiKey: "very-secret" });
  await using program = startProgram(
    process.execPath,
    argumentsFor("capped-cloud-model", [invite, cloud.url, "big-1"]),
    { API_KEY: "very-secret" },
  );
  await program.says(/big-1 is in the room/);
  const openai = openaiAt(`${invite}/v1`);
  for (const [max_tokens, sent] of [
    [undefined, 1_000],
    [5_000, 1_000],
    [7, 7],
  ] as const) {
    const messages = userSays("hello");
    const { choices } = await openai.chat.completions.create({ model: "*", messages, max_tokens });
    expect(choices[0]?.message.content).toBe("hello");
    expect(cloud.requests.at(-1)?.json).toMatchObject({ max_tokens: sent });
  }
  const listing = JSON.stringify(await hub.client.listParticipants(code));
  expect(listing).not.toMatch(/very-secret|127\.0\.0\.1/);
});

test("embed-hub.ts runs a hub, sends it a request, and ends", async () => {
  expect(await run("embed-hub")).toBe("42\n");
});

const python = readFileSync(new URL("../../examples/python/overnight.py", import.meta.url), "utf8");

describe.each<[string, string | undefined, string, string[]]>([
  ["overnight.ts", undefined, process.execPath, argumentsFor("overnight", [])],
  ["python/overnight.py", missingInPython("openai"), "python3", ["-c", python]],
])("%s", (_name, missing, command, args) => {
  test.skipIf(missing !== undefined)(
    `runs a batch to its end, although what serves it is killed, and waits for one that was begun${missing === undefined ? "" : ` (skipped: ${missing})`}`,
    async () => {
      await using room = await startRoom();
      await using folder = await temporaryFolder();
      const env = { HOME: folder.path, XDG_STATE_HOME: folder.path, XDG_RUNTIME_DIR: "" };
      const dir = join(folder.path, "batches");
      const serve = (port: string) =>
        startRoomhub(["batch", "serve", "--room", room.invite, "--dir", dir, "--port", port], env);
      const first = serve("0");
      const { baseUrl, apiKey, port } = await first.line(
        "where it is",
        (line) => "baseUrl" in line,
      );
      const access = {
        OPENAI_BASE_URL: String(baseUrl),
        OPENAI_API_KEY: String(apiKey),
        POLL_MS: "50",
      };
      await using program = startProgram(command, args, access);
      await program.says(/batch batch_\w+\n/);
      await first.kill("SIGKILL");
      await using second = serve(String(port));
      await second.line("where it is", (line) => "baseUrl" in line);
      // The room repeats the question: its last number is the sum where the first one is 0.
      const end = "completed: 100 results, 0 errors\n1 of 100 sums are right\n";
      expect(await program.ended()).toBe(0);
      expect(program.output).toContain(end);
      const [, id = ""] = /batch (batch_\w+)/.exec(program.output) ?? [];
      await using again = startProgram(command, [...args, "*", id], access);
      expect(await again.ended()).toBe(0);
      expect(again.output).toBe(`batch ${id}\n${end}`);
    },
  );
});

const ANTHROPIC_STREAM = [
  {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 0 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Light " } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "scatters." } },
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 2 },
  },
  { type: "message_stop" },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join("");
