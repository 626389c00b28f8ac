import type { Connection, ParticipantSummary } from "@roomhub/protocol";
import { expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { type RoutedAnswer, startRoutedProvider } from "../support/providers/routed-provider.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { until } from "../support/waiting.ts";

/** An agent and its model server, whose list and responses can be changed, in the room of a real hub. */
async function openLab(options: { followModel: boolean }) {
  const server = {
    list: listOf("llama3"),
    chat: { json: completion } as RoutedAnswer,
  };
  const provider = await startRoutedProvider({
    "GET /models": () => server.list,
    "POST /chat/completions": () => server.chat,
  });
  const hub = await startTestHub();
  const code = await hub.createRoom();
  // Everything the agent would detect, so that it causes no update.
  const capabilities = {
    chatCompletions: "supported",
    openResponses: "unsupported",
    messages: "unsupported",
  } as const;
  const ada = await joinTunnel(hub, code, {
    ...{ endpoint: provider.url, model: "llama3", capabilities, ...options },
    timing: { providerCheckMs: 20, providerRecheckMs: 20 },
  });
  const listed = async () => (await hub.client.listParticipants(code))[0] as ParticipantSummary;
  const lists = () => provider.requests.filter(({ method }) => method === "GET").length;
  await until(
    "the first looks",
    async () => lists(),
    (count) => count > 1,
  );
  return {
    hub,
    code,
    server,
    provider,
    listed,
    connectionWhen: (holds: (connection: Connection) => boolean) =>
      until("the connection", async () => (await listed()).connection, holds),
    ask: (model: string) =>
      hub.fetch(`/rooms/${code}/v1/chat/completions`, {
        json: { model, messages: userSays("hello") },
      }),
    async [Symbol.asyncDispose]() {
      await ada[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

function listOf(...ids: string[]): RoutedAnswer {
  return { json: { object: "list", data: ids.map((id) => ({ id, object: "model" })) } };
}

const completion = {
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
};
const loading: RoutedAnswer = {
  status: 503,
  json: { error: { message: "Loading model", type: "unavailable_error", code: 503 } },
};

test("a model server that has another model is followed: one participant.updated, and requests under the new name", async () => {
  await using lab = await openLab({ followModel: true });
  const events = await lab.hub.watch(lab.code);
  lab.server.list = listOf("qwen", "phi");
  const { data } = await events.next("participant.updated");
  expect(data).toMatchObject({
    participant: { model: "qwen", connection: { readiness: "ready" } },
  });
  const answer = await lab.ask("qwen");
  expect(answer.status).toBe(200);
  const served = lab.provider.requests.findLast(({ method }) => method === "POST");
  expect(JSON.parse(served?.body ?? "")).toMatchObject({ model: "qwen" });
  expect((await lab.ask("llama3")).status).toBe(404);
  expect(events.of("participant.updated")).toHaveLength(1);
});

test("a participant whose model was chosen gets no requests while its server has another, and is back with it", async () => {
  await using lab = await openLab({ followModel: false });
  lab.server.list = listOf("qwen");
  const connection = await lab.connectionWhen(({ readiness }) => readiness === "wrong-model");
  expect(connection).toMatchObject({ connected: true, path: "tunnel" });
  expect(connection.problem).toContain("now serves qwen");
  const refused = await lab.ask("llama3");
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ error: { code: "participant_offline" } });
  expect((await lab.listed()).model).toBe("llama3");
  lab.server.list = listOf("llama3:latest", "qwen");
  await lab.connectionWhen(({ readiness }) => readiness === "ready");
  expect((await lab.ask("llama3")).status).toBe(200);
});

test("the room reports the participant's readiness from the server's model list", async () => {
  await using lab = await openLab({ followModel: false });
  for (const [list, readiness] of [
    [loading, "loading"],
    [
      { status: 401, json: { error: { message: "Invalid API Key", code: 401 } } },
      "needs-credentials",
    ],
    [{ status: 502, json: {} }, "down"],
    [{ status: 404, json: {} }, "ready"],
  ] as const) {
    lab.server.list = list;
    await lab.connectionWhen((connection) => connection.readiness === readiness);
  }
});
