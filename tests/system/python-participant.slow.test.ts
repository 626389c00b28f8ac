import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryRoomStore } from "@roomhub/hub";
import { APIError } from "openai";
import { describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { openaiAt, userSays } from "../support/clients/openai-client.ts";
import { type Program, startProgram } from "../support/programs/program.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { until, within } from "../support/waiting.ts";

const folder = fileURLToPath(new URL("../../examples/python/", import.meta.url));
const script = join(folder, "participant.py");
/** Where `websockets` is put when this machine's Python has none; kept, so that it is fetched once. */
const library = join(tmpdir(), "roomhub-python-websockets");
const env = { PYTHONPATH: library, PYTHONDONTWRITEBYTECODE: "1" };

const missing = findMissing();

function findMissing(): string | undefined {
  if (spawnSync("python3", ["--version"]).status !== 0) return "python3 is not installed here";
  if (hasLibrary()) return undefined;
  const install = ["-m", "pip", "install", "--quiet", "--target", library, "websockets"];
  spawnSync("python3", install, { timeout: 60_000 });
  return hasLibrary() ? undefined : "python3 here has no `websockets`, and pip could not fetch it";
}

function hasLibrary(): boolean {
  const env = { ...process.env, PYTHONPATH: library };
  return spawnSync("python3", ["-c", "import websockets.asyncio"], { env }).status === 0;
}

async function startParrot(
  hub: TestHub,
  code: string,
  ...args: string[]
): Promise<Program & { baseURL: string }> {
  const invite = `${hub.url}/rooms/${code}`;
  const program = startProgram("python3", [script, invite, ...args], env);
  await program.says(/^connected$/m);
  return Object.assign(program, { baseURL: `${invite}/v1` });
}

describe.skipIf(missing !== undefined)(`examples/python/participant.py${because(missing)}`, () => {
  test("responds, streams, and reports that it has no responses of its own", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using parrot = await startParrot(hub, code, "--pause", "0");
    const openai = openaiAt(parrot.baseURL);
    const { choices } = await openai.chat.completions.create({
      model: "parrot-1",
      messages: userSays("pretty bird, wörd"),
    });
    expect(choices[0]?.message.content).toBe("pretty bird, wörd");
    const pieces: string[] = [];
    for await (const chunk of await openai.chat.completions.create({
      model: "parrot",
      messages: userSays("pretty bird"),
      stream: true,
    })) {
      pieces.push(chunk.choices[0]?.delta.content ?? "");
    }
    expect(pieces).toEqual(["pretty ", "bird", ""]);
    const refused = openai.responses.create({ model: "parrot", input: "hi" });
    await expect(refused).rejects.toMatchObject({ status: 400, code: "unsupported_protocol" });
    expect(await hub.client.getParticipant(code, "parrot")).toMatchObject({
      connection: { connected: true, path: "tunnel" },
      capabilities: { chatCompletions: "supported", openResponses: "unsupported" },
    });
  });

  test("respects the credit of both directions: 3 MiB each way, as JSON and streamed", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using parrot = await startParrot(hub, code, "--pause", "0");
    const openai = openaiAt(parrot.baseURL);
    const long = "a".repeat(3 * 1024 * 1024);
    const [whole, stream, short] = await Promise.all([
      openai.chat.completions.create({ model: "*", messages: userSays(long) }),
      openai.chat.completions.create({ model: "*", messages: userSays(long), stream: true }),
      openai.chat.completions.create({ model: "*", messages: userSays("short") }),
    ]);
    expect(whole.choices[0]?.message.content === long).toBe(true);
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
    expect(text === long).toBe(true);
    expect(short.choices[0]?.message.content).toBe("short");
    expect(parrot.output).toBe("connected\n");
  });

  test("stops its model when the client leaves, and confirms it, so that its slots are free again", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const events = await hub.watch(code);
    await using parrot = await startParrot(hub, code, "--pause", "0.2");
    const openai = openaiAt(parrot.baseURL);
    // More than it takes at once: without a confirmation the last ones would wait for 5 s each.
    for (let round = 0; round < 3; round++) {
      const streams = await Promise.all(
        Array.from({ length: 8 }, () =>
          openai.chat.completions.create({
            model: "*",
            messages: userSays("word ".repeat(500)),
            stream: true,
          }),
        ),
      );
      for (const stream of streams) stream.controller.abort();
      await until(
        "all slots to be free",
        () => hub.client.getParticipant(code, "parrot"),
        ({ load }) => load.active === 0,
        4_000,
      );
    }
    await events.waitFor("all ends", () => events.of("llm.error").length === 24);
    expect(parrot.output).toBe("connected\n");
  });

  test("an error of the model costs its own request only", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using parrot = await startParrot(hub, code);
    const openai = openaiAt(parrot.baseURL);
    const failing = openai.chat.completions.create({ model: "*", messages: [] });
    await expect(failing).rejects.toBeInstanceOf(APIError);
    await expect(failing).rejects.toMatchObject({
      status: 502,
      message: expect.stringContaining("list index out of range"),
    });
    const { choices } = await openai.chat.completions.create({
      model: "*",
      messages: userSays("still here"),
    });
    expect(choices[0]?.message.content).toBe("still here");
  });

  test("reconnects to a restarted hub, is replaced by its successor, and leaves on SIGTERM", async () => {
    const store = memoryRoomStore();
    const first = await startTestHub({ store });
    const code = await first.createRoom();
    await using parrot = await startParrot(first, code);
    await first.hub.close();
    await using second = await startTestHub({ store, port: first.port });
    await parrot.says(/^connected\n(?:.+\n)+connected$/m);
    expect(parrot.output).toMatch(/^disconnected \(1001\)$/m);

    await using newer = await startParrot(second, code);
    await parrot.says(/refused: another participant took this one's place/);
    await newer.stop("SIGTERM");
    expect(await second.client.listParticipants(code)).toEqual([]);
  });

  test.each([
    ["half a frame head", Buffer.from([1, 0, 0])],
    ["a frame longer than its message", Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 9, 1])],
    ["a HELLO that is no JSON", Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 1, 0x7b])],
    ["a REQUEST without a head", Buffer.from([3, 0, 0, 0, 1, 0, 0, 0, 0])],
  ])("%s closes the tunnel with 4002, and it is dialled again", async (_what, message) => {
    const closed = Promise.withResolvers<number>();
    const again = Promise.withResolvers<void>();
    const server = createServer((request, response) => {
      request.resume();
      const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/tunnel`;
      response.end(JSON.stringify({ tunnel: { url }, participantToken: "rhp_1" }));
    });
    let dials = 0;
    new WebSocketServer({ server, handleProtocols: () => "roomhub.tunnel.v1" }).on(
      "connection",
      (socket) => {
        dials += 1;
        if (dials === 2) again.resolve();
        socket.once("message", () => socket.send(message));
        socket.once("close", closed.resolve);
      },
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const parrot = startProgram("python3", [script, `http://127.0.0.1:${port}/rooms/ABC234`], env);
    expect(await within(closed.promise, "the close")).toBe(4002);
    await within(again.promise, "the second dial");
    await parrot.stop("SIGKILL");
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test("a wrong invitation, an unknown room and a wrong password are one line each", async () => {
    await using hub = await startTestHub();
    const code = await hub.createRoom("swordfish");
    const refusalOf = async (invite: string) => {
      await using program = startProgram("python3", [script, invite], env);
      await program.says(/(?:refused|error): .+\n/);
      return program.output.trim().split("\n").at(-1);
    };
    expect(await refusalOf(hub.url)).toMatch(/write it like http/);
    expect(await refusalOf(`${hub.url}/rooms/ZZZ999`)).toMatch(/^refused: .*ZZZ999/);
    expect(await refusalOf(`${hub.url}/rooms/${code}/v1`)).toMatch(/^refused: .*password/);
  });

  test("reads and writes the frames that all implementations share", async () => {
    const fixtures = new URL("../fixtures/wire/", import.meta.url);
    const cases = readdirSync(fixtures)
      .filter((name) => name !== "malformed.json")
      .flatMap((name) => {
        const text = readFileSync(new URL(name, fixtures), "utf8");
        return (JSON.parse(text) as { cases: WireCase[] }).cases;
      });
    expect(cases.length).toBeGreaterThan(10);
    const program = `
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from participant import frame, frames
for text in json.loads(sys.argv[2]):
    [(kind, stream, payload)] = frames(bytes.fromhex(text))
    print(json.dumps([kind, stream, frame(kind, stream, payload).hex()]))
`;
    const paths = JSON.stringify([folder, library]);
    const hexes = JSON.stringify(cases.map(({ hex }) => hex));
    const { stdout, stderr } = await runCommand("python3", ["-B", "-c", program, paths, hexes]);
    expect(stderr).toBe("");
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(cases.map(({ type, streamId, hex }) => [type, streamId, hex]));
  });
});

interface WireCase {
  hex: string;
  type: number;
  streamId: number;
}

function because(missing: string | undefined): string {
  return missing === undefined ? "" : ` (skipped: ${missing})`;
}
