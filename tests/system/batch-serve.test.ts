import { systemWorld } from "@roomhub/protocol";
import { toFile } from "openai";
import type { BatchCreateParams } from "openai/resources/batches";
import { describe, expect, test } from "vitest";
import { createBatchApi } from "../../packages/cli/src/batch/serve/batch-api.ts";
import { openBatchFolder } from "../../packages/cli/src/batch/serve/batch-folder.ts";
import { createSender } from "../../packages/cli/src/batch/run/send-request.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startDoor } from "../support/hub/start-door.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { type Behaviour, startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

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
});
