import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { RoomhubClient } from "@roomhub/client";
import { memoryRoomStore } from "@roomhub/hub";
import { type CreateRoomResponse, systemWorld } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { BatchError } from "../../packages/cli/src/batch/run/batch-error.ts";
import { openBatch } from "../../packages/cli/src/batch/run/open-batch.ts";
import {
  type BatchProgress,
  runBatch,
  type RunOptions,
} from "../../packages/cli/src/batch/run/run-batch.ts";
import { createSender } from "../../packages/cli/src/batch/run/send-request.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import {
  type Behaviour,
  type FakeProvider,
  startFakeProvider,
} from "../support/providers/fake-provider.ts";
import { createGate, until } from "../support/waiting.ts";

/** Time passes fifty times as fast for a batch: what it decides does not change. */
const startedMs = systemWorld.wallMs();
const haste = 50;
const hasty = {
  ...systemWorld,
  monotonicMs: () => systemWorld.monotonicMs() * haste,
  wallMs: () => startedMs + (systemWorld.wallMs() - startedMs) * haste,
  setTimeout: (task: () => void, ms: number) => systemWorld.setTimeout(task, ms / haste),
};

function requestLines(count: number, model = "fake-model"): string {
  return Array.from({ length: count }, (_, number) =>
    JSON.stringify({
      custom_id: `q-${number}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model, messages: [{ role: "user", content: `q-${number}` }] },
    }),
  ).join("\n");
}

/** A file of requests in a folder of its own, and how it is sent to a room. */
async function startBatch(input: string) {
  const folder = await temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  const paths = {
    input: at("evals.jsonl"),
    output: at("evals.output.jsonl"),
    errors: at("evals.errors.jsonl"),
    journal: at("evals.output.batch.json"),
  };
  await writeFile(paths.input, input);
  const read = async (path: string) => {
    const text = await readFile(path, "utf8").catch(() => "");
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  };
  return {
    paths,
    results: () => read(paths.output),
    errors: () => read(paths.errors),
    open: () => openBatch(paths, { world: hasty }),
    async run(hub: Pick<TestHub, "url" | "client">, room: string, over: Partial<RunOptions> = {}) {
      await using batch = await openBatch(paths, { world: hasty });
      const sender = createSender({ hubUrl: hub.url, room, key: undefined, pin: undefined });
      try {
        return await runBatch(batch, {
          world: hasty,
          room: {
            send: sender.send,
            listParticipants: (signal) => hub.client.listParticipants(room, { signal }),
            listModels: (signal) => hub.client.listModels(room, { signal }),
          },
          ...{ concurrency: "auto", maxAttempts: 3, untilMs: undefined },
          signal: new AbortController().signal,
          ...over,
        });
      } finally {
        sender.close();
      }
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

interface Line {
  custom_id: string;
  response: { status_code: number; request_id: string; body: { error?: { code: string } } };
}

const idsOf = (lines: Line[]) => lines.map(({ custom_id: id }) => id).toSorted();
const allIds = (count: number) =>
  Array.from({ length: count }, (_, number) => `q-${number}`).toSorted();

test("every request of a file has one result, and was sent as a batch with its body as it was written", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const room = await hub.createRoom();
  await using _ada = await joinTunnel(hub, room, { endpoint: provider.url, model: "fake-model" });
  await using watch = await hub.watch(room);
  await using batch = await startBatch(requestLines(40));
  let progress: BatchProgress | undefined;
  const onProgress = (now: BatchProgress) => {
    progress = now;
  };
  expect(await batch.run(hub, room, { onProgress })).toEqual({ kind: "finished" });
  const results = await batch.results();
  expect(idsOf(results)).toEqual(allIds(40));
  expect(results[0]?.response).toMatchObject({
    status_code: 200,
    request_id: expect.stringMatching(/^req_/),
    body: { object: "chat.completion" },
  });
  expect(await batch.errors()).toEqual([]);
  expect(progress).toMatchObject({ total: 40, completed: 40, failed: 0, running: 0 });
  expect([...(progress?.byParticipant.values() ?? [])]).toEqual([40]);
  await watch.waitFor("their ends", (events) => events.of("llm.complete").length === 40);
  const priorities = watch.of("llm.complete").map(({ data }) => data["priority"]);
  expect(new Set(priorities)).toEqual(new Set(["batch"]));
  const sent = generations(provider).map(({ body }) => body.toString());
  const written = requestLines(40)
    .split("\n")
    .map((line) => JSON.stringify((JSON.parse(line) as { body: object }).body));
  expect(sent.toSorted()).toEqual(written.toSorted());
  expect(generations(provider)[0]?.headers).not.toHaveProperty("x-roomhub-priority");
});

test("a request that the model server rejects is a line of the error file, and is not sent again", async () => {
  const behave = ({ body }: { body: Buffer }): Behaviour =>
    body.includes("q-3")
      ? { kind: "status", status: 422, body: { error: { message: "no", code: "bad_field" } } }
      : { kind: "normal" };
  await using room = await startRoom(behave);
  await using batch = await startBatch(requestLines(5));
  expect(await batch.run(room.hub, room.code)).toEqual({ kind: "finished" });
  expect(idsOf(await batch.results())).toEqual(["q-0", "q-1", "q-2", "q-4"]);
  const [error] = await batch.errors();
  expect(error).toMatchObject({
    custom_id: "q-3",
    response: { status_code: 422, body: { error: { code: "bad_field" } } },
    error: null,
  });
  expect(generations(room.provider)).toHaveLength(5);
  expect(await batch.run(room.hub, room.code)).toEqual({ kind: "finished" });
  expect(generations(room.provider)).toHaveLength(5);
});

test("a request that is lost is sent again, and after its last attempt its error is written", async () => {
  let lost = 0;
  const behave = ({ body }: { body: Buffer }): Behaviour => {
    if (body.includes("q-1")) return { kind: "cut", afterChunks: 0 };
    return body.includes("q-2") && lost++ === 0
      ? { kind: "cut", afterChunks: 0 }
      : { kind: "normal" };
  };
  await using room = await startRoom(behave);
  await using batch = await startBatch(requestLines(4));
  expect(await batch.run(room.hub, room.code)).toEqual({ kind: "finished" });
  expect(idsOf(await batch.results())).toEqual(["q-0", "q-2", "q-3"]);
  expect(await batch.errors()).toMatchObject([
    { custom_id: "q-1", response: { status_code: 502 } },
  ]);
});

test("a response that breaks off counts as an attempt, on a kept connection too, and other requests run", async () => {
  const sentOnKept: boolean[] = [];
  const before = new Set<unknown>();
  const server = createServer((request, response) => {
    const { socket } = request;
    const isKept = before.has(socket);
    before.add(socket);
    void text(request).then((body) => {
      if (!body.includes("q-1")) return response.end('{"ok":true}');
      sentOnKept.push(isKept);
      response.writeHead(200, { "content-type": "application/json", "content-length": 100 });
      return response.write('{"choices":[', () => socket.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using batch = await startBatch(requestLines(4));
  const hub = { url, client: new RoomhubClient({ hubUrl: url }) };
  expect(await batch.run(hub, "ABC234", { concurrency: 1 })).toEqual({ kind: "finished" });
  expect(sentOnKept).toHaveLength(3);
  expect(sentOnKept[0]).toBe(true);
  expect(idsOf(await batch.results())).toEqual(["q-0", "q-2", "q-3"]);
  expect(await batch.errors()).toMatchObject([
    { custom_id: "q-1", response: null, error: { code: "response_broken" } },
  ]);
  server.close();
  server.closeAllConnections();
});

test("a batch that is stopped lets what runs end, and the next run sends only what is left", async () => {
  const gate = createGate();
  await using room = await startRoom(() => ({ kind: "normal", gate: gate.opened }), 2);
  await using batch = await startBatch(requestLines(6));
  const stop = new AbortController();
  const running = batch.run(room.hub, room.code, { signal: stop.signal, concurrency: 2 });
  await room.provider.waitFor(({ openGenerations }) => openGenerations === 2);
  stop.abort();
  gate.open();
  expect(await running).toEqual({ kind: "stopped", why: "signal" });
  expect(idsOf(await batch.results())).toEqual(["q-0", "q-1"]);
  expect(generations(room.provider)).toHaveLength(2);

  await writeFile(batch.paths.output, '{"id":"batch_req_9","custom_id":"q-4","resp', { flag: "a" });
  expect(await batch.run(room.hub, room.code)).toEqual({ kind: "finished" });
  expect(idsOf(await batch.results())).toEqual(allIds(6));
  expect(generations(room.provider)).toHaveLength(6);
});

test("a batch ends at its time, and continues", async () => {
  await using room = await startRoom(() => ({ kind: "hang" }));
  await using batch = await startBatch(requestLines(2));
  const until = { untilMs: hasty.wallMs() + 10_000, concurrency: 1 };
  expect(await batch.run(room.hub, room.code, until)).toEqual({ kind: "stopped", why: "until" });
  expect(await batch.results()).toEqual([]);
});

test("a model that was in the room is waited for, also after a restart, and one that never was is an error", async () => {
  await using provider = await startFakeProvider();
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const wishes = { endpoint: provider.url, model: "fake-model", id: "ada" };
  await using other = await startFakeProvider({ model: "other" });
  await using _bob = await joinTunnel(hub, code, {
    endpoint: other.url,
    model: "other",
    id: "bob",
  });
  await using batch = await startBatch(
    `${requestLines(1, "missing")}\n${requestLines(9).split("\n").slice(1).join("\n")}`,
  );
  const ada = await joinTunnel(hub, code, wishes);
  const stop = new AbortController();
  const first = batch.run(hub, code, {
    signal: stop.signal,
    concurrency: 1,
    onProgress: ({ completed }) => {
      if (completed > 0) stop.abort();
    },
  });
  expect(await first).toEqual({ kind: "stopped", why: "signal" });
  await ada[Symbol.asyncDispose]();
  await until(
    "her departure",
    () => hub.client.listParticipants(code),
    ({ length }) => length === 1,
  );

  let isWaiting = false;
  const second = batch.run(hub, code, {
    onProgress: ({ waitsFor }) => {
      isWaiting ||= waitsFor?.includes("fake-model") === true;
    },
  });
  await until("a refusal", () => isWaiting, Boolean);
  await using _again = await joinTunnel(hub, code, wishes);
  expect(await second).toEqual({ kind: "finished" });
  expect(idsOf(await batch.results())).toEqual(allIds(9).slice(1));
  expect(await batch.errors()).toMatchObject([
    {
      custom_id: "q-0",
      response: { status_code: 404, body: { error: { code: "model_not_found" } } },
    },
  ]);
});

test("an empty room is waited for, and so is a hub that is away", async () => {
  const store = memoryRoomStore();
  const before = await startTestHub({ store });
  const code = await before.createRoom();
  await using batch = await startBatch(requestLines(3));
  const reasons = new Set<string>();
  const run = batch.run(before, code, {
    onProgress: ({ waitsFor }) => {
      if (waitsFor !== undefined) reasons.add(waitsFor);
    },
  });
  await until(
    "a refusal",
    () => reasons.size,
    (size) => size > 0,
  );
  await before[Symbol.asyncDispose]();
  const all = () => [...reasons].join("\n");
  await until("a hub that is away", all, (text) => text.includes("the hub is unreachable"));
  await using after = await startTestHub({ store, port: before.port });
  await using provider = await startFakeProvider();
  await using _ada = await joinTunnel(after, code, { endpoint: provider.url, model: "fake-model" });
  expect(await run).toEqual({ kind: "finished" });
  expect(idsOf(await batch.results())).toEqual(allIds(3));
});

test("a closed room stops a batch, and nothing is written", async () => {
  await using room = await startRoom(() => ({ kind: "normal" }));
  await room.hub.client.asHost(room.code, { hostToken: room.hostToken }).setClosed(true);
  await using batch = await startBatch(requestLines(3));
  expect(await batch.run(room.hub, room.code)).toMatchObject({
    kind: "hopeless",
    code: "invalid_api_key",
  });
  expect([...(await batch.results()), ...(await batch.errors())]).toEqual([]);
});

test("no slot stays free, and few requests wait in the room", async () => {
  let most = 0;
  const gates: (() => void)[] = [];
  const behave = (): Behaviour => {
    const gate = createGate();
    gates.push(() => gate.open());
    return { kind: "normal", gate: gate.opened };
  };
  await using room = await startRoom(behave, 4);
  await using batch = await startBatch(requestLines(60));
  // The hub says in ms of its own how long a request waited.
  const run = batch.run(room.hub, room.code, { world: systemWorld });
  for (let count = 0; count < 57; count++) {
    await room.provider.waitFor(({ openGenerations }) => openGenerations === 4);
    const [ada] = await room.hub.client.listParticipants(room.code);
    most = Math.max(most, ada?.load.batch?.queued ?? 0);
    gates.shift()?.();
    await room.provider.waitFor((one) => generations(one).length >= Math.min(60, count + 5));
  }
  for (const open of gates) open();
  expect(await run).toEqual({ kind: "finished" });
  expect(most).toBeLessThanOrEqual(3);
});

test("a batch has one sender at a time, its own input, and files that are its own", async () => {
  await using batch = await startBatch(requestLines(2));
  const kindOf = (error: unknown) => (error instanceof BatchError ? error.kind : error);
  const failure = () => batch.open().then(() => undefined, kindOf);
  const first = await batch.open();
  expect(await failure()).toBe("in-use");
  await first.close();

  await writeFile(batch.paths.input, requestLines(3));
  expect(await failure()).toBe("other-input");
  await writeFile(batch.paths.input, requestLines(2));

  await writeFile(
    batch.paths.output,
    '{"id":"a","custom_id":"q-7","response":null,"error":null}\n',
  );
  expect(await failure()).toBe("other-files");
  const twice = '{"id":"a","custom_id":"q-1","response":null,"error":null}\n'.repeat(2);
  await writeFile(batch.paths.output, twice);
  expect(await failure()).toBe("other-files");
  await rm(batch.paths.output);
  await (await batch.open()).close();

  await rm(batch.paths.journal);
  await writeFile(batch.paths.errors, "notes");
  expect(await failure()).toBe("other-files");
  await rm(batch.paths.errors);
  await writeFile(batch.paths.input, "hello");
  expect(await failure()).toBe("invalid-input");
});

/** Without those that looked what the server is. */
function generations({ requests }: FakeProvider) {
  return requests.filter(({ method, body }) => method === "POST" && body.includes("q-"));
}

/** A room with one participant of one model. */
async function startRoom(
  behave: (request: { body: Buffer }) => Behaviour,
  slots?: number,
): Promise<
  AsyncDisposable &
    Pick<CreateRoomResponse, "hostToken"> & { hub: TestHub; provider: FakeProvider; code: string }
> {
  const provider = await startFakeProvider({ behave });
  const hub = await startTestHub();
  const { room, hostToken } = await hub.client.createRoom({ name: "lab" });
  const config = slots === undefined ? {} : { maxConcurrency: slots };
  const wishes = { endpoint: provider.url, model: "fake-model", config };
  const ada = await joinTunnel(hub, room.code, wishes);
  return {
    ...{ hub, provider, code: room.code, hostToken },
    async [Symbol.asyncDispose]() {
      await ada[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await provider.close();
    },
  };
}
