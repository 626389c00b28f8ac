import { systemWorld } from "@roomhub/protocol";
import { toFile } from "openai";
import type { BatchCreateParams } from "openai/resources/batches";
import { describe, expect, test } from "vitest";
import { createSender } from "../../packages/cli/src/batch/run/send-request.ts";
import { createBatchApi } from "../../packages/cli/src/batch/serve/batch-api.ts";
import { openBatchFolder } from "../../packages/cli/src/batch/serve/batch-jobs.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startDoor } from "../support/hub/start-door.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, until } from "../support/waiting.ts";

const endpoint = "/v1/chat/completions";

function lineOf(id: string, body: object = {}): string {
  const messages = userSays(id);
  const request = { model: "fake-model", messages, ...body };
  return JSON.stringify({ custom_id: id, method: "POST", url: endpoint, body: request });
}

function linesOf(count: number): string {
  return Array.from({ length: count }, (_, number) => lineOf(`q-${number}`)).join("\n");
}

/** A room with a model, and a folder for batches. */
async function startRoom(behave?: (request: { body: Buffer }) => Behaviour | undefined) {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub());
  const provider = stack.use(
    await startFakeProvider({
      behave: (request) => (request.json["model"] === undefined ? undefined : behave?.(request)),
    }),
  );
  const room = await hub.createRoom();
  stack.use(await joinTunnel(hub, room, { endpoint: provider.url, model: "fake-model" }));
  const folder = stack.use(await temporaryFolder());
  const owned = stack.move();
  return {
    ...{ hub, provider, room, path: folder.path },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type Room = Awaited<ReturnType<typeof startRoom>>;

/** What `roomhub batch serve` opens for the room. */
async function serveBatches({ hub, room, path }: Room, world = systemWorld) {
  const sender = createSender({ hubUrl: hub.url, room, key: undefined, pin: undefined });
  const statuses: string[] = [];
  const problems: unknown[] = [];
  const folder = await openBatchFolder(path, {
    world,
    room: {
      send: sender.send,
      listParticipants: (signal) => hub.client.listParticipants(room, { signal }),
      listModels: (signal) => hub.client.listModels(room, { signal }),
    },
    onStatus: ({ status }) => statuses.push(status),
    onObstacle: (_record, problem) => problems.push(problem),
  });
  const serveHere = createBatchApi({ ...folder, onFailure: (error) => problems.push(error) });
  const door = await startDoor(hub.url, room, { serveHere, openedBy: "roomhub batch serve" });
  folder.jobs.start();
  const { openai } = door;
  return {
    ...{ openai, url: door.url, statuses, problems },
    upload: async (text: string, name = "evals.jsonl") =>
      openai.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), name) }),
    async create(text: string, more: Partial<BatchCreateParams> = {}) {
      const { id } = await this.upload(text);
      const about = { input_file_id: id, endpoint, completion_window: "24h" } as const;
      return openai.batches.create({ ...about, ...more });
    },
    ended: (id: string) =>
      until(
        `the end of ${id}`,
        () => openai.batches.retrieve(id),
        ({ status }) => ["completed", "failed", "cancelled", "expired"].includes(status),
        20_000,
      ),
    async linesOf(id: string | null | undefined) {
      const text = id ? await (await openai.files.content(id)).text() : "";
      return text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as ResultLine);
    },
    async [Symbol.asyncDispose]() {
      await door.close();
      await folder.close();
      sender.close();
    },
  };
}

interface ResultLine {
  custom_id: string;
  response: { status_code: number; body: { choices: { message: { content: string } }[] } } | null;
  error: { code: string } | null;
}

const idsOf = (lines: ResultLine[]) => lines.map(({ custom_id: id }) => id).toSorted();

describe("the OpenAI SDK with the base URL of roomhub batch serve", () => {
  test("uploads a file, creates a batch, polls and downloads the results", async () => {
    await using room = await startRoom();
    await using served = await serveBatches(room);
    const file = await served.upload(linesOf(20));
    expect(file).toMatchObject({
      ...{ object: "file", purpose: "batch", filename: "evals.jsonl", status: "processed" },
      bytes: Buffer.byteLength(linesOf(20)),
    });
    const metadata = { night: "first" };
    const about = { input_file_id: file.id, endpoint, completion_window: "24h" } as const;
    const batch = await served.openai.batches.create({ ...about, metadata });
    expect(batch).toMatchObject({ object: "batch", status: "validating", metadata, ...about });
    expect(Number(batch.expires_at) - batch.created_at).toBe(24 * 3_600);
    const ended = await served.ended(batch.id);
    expect(ended).toMatchObject({
      ...{ status: "completed", model: "fake-model", error_file_id: null, errors: null },
      request_counts: { total: 20, completed: 20, failed: 0 },
    });
    const lines = await served.linesOf(ended.output_file_id);
    expect(idsOf(lines)).toEqual(Array.from({ length: 20 }, (_, n) => `q-${n}`).toSorted());
    for (const { custom_id: id, response } of lines) {
      expect(response?.body.choices[0]?.message.content).toBe(id);
    }
    expect(served.statuses).toEqual(["validating", "in_progress", "finalizing", "completed"]);
    expect(served.problems).toEqual([]);
  });

  test("reaches the room's models with the same base URL", async () => {
    await using room = await startRoom();
    await using served = await serveBatches(room);
    const { choices } = await served.openai.chat.completions.create({
      model: "fake-model",
      messages: userSays("by day"),
    });
    expect(choices[0]?.message.content).toBe("by day");
    expect((await served.openai.models.list()).data).toHaveLength(1);
  });

  test("says by line what is wrong with a file, and sends nothing of it", async () => {
    await using room = await startRoom();
    await using served = await serveBatches(room);
    const lines = [lineOf("a"), "{", lineOf("a"), lineOf("b", { stream: true })];
    const { id } = await served.create(lines.join("\n"));
    const failed = await served.ended(id);
    expect(failed).toMatchObject({ status: "failed", output_file_id: null, error_file_id: null });
    expect(failed.errors?.data?.map(({ code, line }) => [code, line])).toEqual([
      ["invalid_json_line", 2],
      ["duplicate_custom_id", 3],
      ["streaming_unsupported", 4],
    ]);
    const other = await served.create(lineOf("a"), { endpoint: "/v1/embeddings" });
    const mismatched = await served.ended(other.id);
    expect(mismatched.errors?.data).toMatchObject([{ code: "mismatched_endpoint", line: null }]);
    expect(room.provider.requests.filter(({ json }) => json["model"] !== undefined)).toEqual([]);
  });

  test("gives a failed request a line of the error file", async () => {
    await using room = await startRoom(({ body }) =>
      body.includes("q-1") ? { kind: "status", status: 422, body: { error: {} } } : undefined,
    );
    await using served = await serveBatches(room);
    const ended = await served.ended((await served.create(linesOf(3))).id);
    expect(ended).toMatchObject({
      ...{ status: "completed", request_counts: { total: 3, completed: 2, failed: 1 } },
    });
    expect(await served.linesOf(ended.error_file_id)).toMatchObject([
      { custom_id: "q-1", response: { status_code: 422 } },
    ]);
  });

  test("cancels a batch, which then has a line for each request", async () => {
    const gate = createGate();
    await using room = await startRoom(() => ({ kind: "normal", gate: gate.opened }));
    await using served = await serveBatches(room);
    const { id } = await served.create(linesOf(30));
    await room.provider.waitFor(({ openGenerations }) => openGenerations > 0);
    expect(await served.openai.batches.cancel(id)).toMatchObject({ status: "cancelling" });
    gate.open();
    const ended = await served.ended(id);
    expect(ended.status).toBe("cancelled");
    const results = await served.linesOf(ended.output_file_id);
    const rest = await served.linesOf(ended.error_file_id);
    expect(idsOf([...results, ...rest])).toHaveLength(30);
    expect(new Set(rest.map(({ error }) => error?.code))).toEqual(new Set(["batch_cancelled"]));
    expect(await served.openai.batches.cancel(id)).toMatchObject({ status: "cancelled" });
  });

  test("ends a batch at its deadline, with an error for each request without a result", async () => {
    const gate = createGate();
    await using room = await startRoom(({ body }) =>
      body.includes('"q-0"') ? undefined : { kind: "normal", gate: gate.opened },
    );
    await using served = await serveBatches(room);
    const { id } = await served.create(linesOf(10), { completion_window: "1s" as "24h" });
    await until(
      "the deadline",
      () => served.openai.batches.retrieve(id),
      ({ expires_at: at }) => systemWorld.wallMs() > Number(at) * 1_000 + 1_000,
    );
    gate.open();
    const ended = await served.ended(id);
    expect(ended.status).toBe("expired");
    expect(ended.expired_at).toBeGreaterThanOrEqual(Number(ended.expires_at));
    const lines = await served.linesOf(ended.error_file_id);
    expect(lines.map(({ error }) => error?.code)).toContain("batch_expired");
    const results = await served.linesOf(ended.output_file_id);
    expect(idsOf([...results, ...lines])).toHaveLength(10);
  });

  test("keeps files and batches across a restart, and continues in the middle", async () => {
    const gate = createGate();
    let sent = 0;
    await using room = await startRoom(() =>
      ++sent <= 5 ? undefined : { kind: "normal", gate: gate.opened },
    );
    const first = await serveBatches(room);
    const { id, input_file_id: input } = await first.create(linesOf(30));
    await until(
      "five results",
      () => first.openai.batches.retrieve(id),
      ({ request_counts: counts }) => counts?.completed === 5,
    );
    const closing = first[Symbol.asyncDispose]();
    gate.open();
    await closing;
    await using second = await serveBatches(room);
    const ended = await second.ended(id);
    expect(ended).toMatchObject({
      ...{ status: "completed", input_file_id: input },
      request_counts: { total: 30, completed: 30, failed: 0 },
    });
    const lines = await second.linesOf(ended.output_file_id);
    expect(new Set(idsOf(lines)).size).toBe(30);
    expect(lines).toHaveLength(30);
    expect(await (await second.openai.files.content(input)).text()).toBe(linesOf(30));
  });

  test("lists by pages, and deletes files that no batch uses", async () => {
    const gate = createGate();
    await using room = await startRoom(() => ({ kind: "normal", gate: gate.opened }));
    await using served = await serveBatches(room);
    const made: string[] = [];
    for (let count = 0; count < 5; count++) made.push((await served.create(linesOf(1))).id);
    const listed: string[] = [];
    for await (const { id } of served.openai.batches.list({ limit: 2 })) listed.push(id);
    expect(listed.toSorted()).toEqual(made.toSorted());
    const [newest] = (await served.openai.files.list()).data;
    const id = newest?.id ?? "";
    const refused = served.openai.files.delete(id, { maxRetries: 2 });
    await expect(refused).rejects.toMatchObject({ status: 409, code: "file_in_use" });
    gate.open();
    for (const batch of made) await served.ended(batch);
    expect(await served.openai.files.delete(id)).toEqual({ id, object: "file", deleted: true });
    await expect(served.openai.files.retrieve(id)).rejects.toMatchObject({ status: 404 });
    const cancelled = served.openai.batches.cancel(made[0] ?? "");
    await expect(cancelled).rejects.toMatchObject({ status: 409, code: "batch_not_cancellable" });
  });

  test("refuses what it does not keep, and says what to do", async () => {
    await using room = await startRoom();
    await using served = await serveBatches(room);
    const file = await toFile(Buffer.from("x"), "x.jsonl");
    const other = served.openai.files.create({ purpose: "fine-tune", file });
    await expect(other).rejects.toMatchObject({ status: 400, param: "purpose" });
    const empty = served.upload("");
    await expect(empty).rejects.toMatchObject({ status: 400, param: "file" });
    const unknown = served.openai.batches.create({
      ...{ input_file_id: "file-0", endpoint, completion_window: "24h" },
    });
    await expect(unknown).rejects.toMatchObject({ status: 404, code: "file_not_found" });
    const window = served.create(lineOf("a"), { completion_window: "soon" as "24h" });
    await expect(window).rejects.toMatchObject({ status: 400, param: "completion_window" });
    for (const path of ["files", "batches"]) {
      expect((await fetch(`${served.url}/${path}`)).status).toBe(401);
      const origin = "http://evil.example";
      expect((await fetch(`${served.url}/${path}`, { headers: { origin } })).status).toBe(403);
    }
  });
});
