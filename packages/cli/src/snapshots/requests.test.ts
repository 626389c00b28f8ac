import type { RouteExplanation } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { aRoute } from "../doctor/doctor.fixture.ts";
import { aRoom } from "../test-context.fixture.ts";
import { everywhere, inPipe, type Scene, untilSaid } from "./session.fixture.ts";

const chunks = [
  { choices: [{ delta: { reasoning_content: "The user greets me." } }] },
  { choices: [{ delta: { content: "Hello!\n你好, " } }] },
  { choices: [{ delta: { content: "Ana." }, finish_reason: "stop" }] },
  { choices: [], usage: { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 } },
];

/** A room whose participant streams these and then ends, or does not. */
function streaming(events: readonly object[], end = "data: [DONE]\n\n"): Scene {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("") + end;
  const headers = {
    "content-type": "text/event-stream",
    "x-request-id": "req_1",
    "x-roomhub-participant": "ana-llama3",
    "x-roomhub-model": "llama3",
  };
  return { context: { fetch: async () => new Response(body, { headers }) } };
}

/** A response that begins and never ends by itself. */
function endless(signal: AbortSignal | null | undefined): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const chunk = { choices: [{ delta: { content: "Hello" } }] };
      controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`));
      signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const ask = ["chat", "ABC234", "Hello"];

describe("chat", () => {
  test("streams the response; on a terminal with its reasoning and its participant", async () => {
    expect(await everywhere(ask, streaming(chunks))).toMatchSnapshot();
    expect(await inPipe([...ask, "--json"], streaming(chunks))).toMatchSnapshot();
  });

  test("reports a truncated response", async () => {
    expect(await everywhere(ask, streaming(chunks.slice(0, 2), ""))).toMatchSnapshot();
  });

  test("shows the model server's error when a stream fails", async () => {
    const error = { error: { message: "CUDA out of memory", code: "provider_failed" } };
    expect(await inPipe(ask, streaming([...chunks.slice(0, 2), error]))).toMatchSnapshot();
  });

  test("shows the hub's refusal with its next step and the participants", async () => {
    const error = {
      code: "model_not_found",
      message: 'No participant in room ABC234 has the id or serves the model "gpt-9".',
      hint: 'Use "*" for any participant, or list the names: roomhub models ABC234',
      participants: [
        { id: "ana-llama3", model: "llama3", reason: "serves llama3" },
        { id: "bea-qwen3", model: "qwen3", reason: "is offline" },
      ],
    };
    const fetch = async () => Response.json({ error }, { status: 404 });
    expect(
      await everywhere([...ask, "--model", "gpt-9"], { context: { fetch } }),
    ).toMatchSnapshot();
  });

  test("of a hub with no room, or with several, shows the next step", async () => {
    const several = [aRoom(), aRoom({ code: "XYZ789", name: "kitchen" })];
    const none: Scene = { client: { listRooms: async () => [] } };
    const two: Scene = { client: { listRooms: async () => several } };
    expect(await inPipe(["chat", "Hello"], none)).toMatchSnapshot();
    expect(await inPipe(["chat", "Hello"], two)).toMatchSnapshot();
  });

  test("without a prompt shows the usage", async () => {
    expect(await inPipe(["chat", "--room", "ABC234"])).toMatchSnapshot();
  });

  test("is stopped by Ctrl+C in the middle of a line", async () => {
    const scene: Scene = {
      context: { fetch: async (_url, { signal }) => endless(signal) },
      meanwhile: (world) => untilSaid(world, "Hello"),
    };
    expect(await everywhere(ask, scene)).toMatchSnapshot();
  });
});

describe("route", () => {
  const [ana] = aRoute.participants as [RouteExplanation["participants"][number]];
  const args = ["route", "ABC234", "--model", "llama3"];
  const byName: RouteExplanation = {
    ...aRoute,
    model: "llama3",
    readAs: "model",
    participants: [
      { ...ana, verdict: "asked", reason: "serves llama3" },
      {
        ...ana,
        ...{ id: "安娜-llama3", model: "llama3:latest", verdict: "next" },
        reason: "takes over if ana-llama3 fails before it responds",
      },
      {
        ...ana,
        ...{ id: "carl", model: "qwen", verdict: "passed-over", reason: "serves qwen" },
        connection: { ...ana.connection, path: "none", readiness: "down" },
      },
    ],
    onFailure: { movesTo: "安娜-llama3", reason: "it goes once to 安娜-llama3" },
  };

  function explained(route: RouteExplanation): Scene {
    return { client: { getRoom: async () => aRoom(), explainRoute: async () => route } };
  }

  test("is a line for each participant, with its part and why", async () => {
    expect(await everywhere(args, explained(byName))).toMatchSnapshot();
    expect(await inPipe([...args, "--json"], explained(byName))).toMatchSnapshot();
  });

  test("of a request that would wait", async () => {
    const participants = [{ ...ana, verdict: "full", reason: "runs 4 of 4 requests" } as const];
    const queue = { waiting: 1, limit: 256, waitMs: 60_000 };
    const waiting = explained({ ...aRoute, outcome: "waits", participants, queue });
    expect(await inPipe(["route", "ABC234"], waiting)).toMatchSnapshot();
  });

  test("of a request that would be refused fails as the request would", async () => {
    const refused: RouteExplanation = {
      ...{ roomCode: "ABC234", model: "gpt-9", protocol: "chatCompletions", queue: aRoute.queue },
      ...{ readAs: "model", outcome: "refused", participants: [] },
      refusal: {
        ...{
          status: 404,
          code: "model_not_found",
          message: "No participant has joined room ABC234 yet.",
        },
        hint: "Share a model: roomhub join ABC234",
      },
    };
    const gpt = ["route", "ABC234", "--model", "gpt-9"];
    expect(await everywhere(gpt, explained(refused))).toMatchSnapshot();
    expect(await inPipe([...gpt, "--json"], explained(refused))).toMatchSnapshot();
  });
});
