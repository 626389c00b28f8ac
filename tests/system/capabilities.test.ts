import { afterEach, expect, test } from "vitest";
import { join, joinDirect, joinTunnel, PATHS } from "../support/hub/joining.ts";
import { openaiAt } from "../support/clients/openai-client.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import {
  type Program,
  startVersionedProvider,
  type VersionedProvider,
} from "../support/providers/versioned-provider.ts";
import { until } from "../support/waiting.ts";

const old: Program = { kind: "ollama", version: "0.12.11" };
const recent: Program = { kind: "ollama", version: "0.14.0" };
const nameless: Program = { kind: "nameless", hasResponses: false };

const providers: VersionedProvider[] = [];

/** Ollama describes a model without loading it. */
const isDescription = (line: string) => /^POST \/api\/show \{"model":"[^"]*"\}$/.test(line);

/** No request may load a model unless a client sent it. */
afterEach(() => {
  for (const { asked } of providers.splice(0)) {
    const ownQuestions = asked.filter(
      (line) => !line.includes('"input":"hi') && !line.includes('"content":"hi'),
    );
    const harmless =
      /^(?:GET \S+|POST \/v1\/(?:responses(?:\/\w+)?|chat\/completions|messages) \{\})$/;
    expect(ownQuestions.filter((line) => !harmless.test(line) && !isDescription(line))).toEqual([]);
  }
});

async function startProvider(program: Program): Promise<VersionedProvider> {
  const provider = await startVersionedProvider(program);
  providers.push(provider);
  return provider;
}

async function capabilitiesOf(hub: TestHub, code: string): Promise<Record<string, unknown>> {
  const [participant] = await hub.client.listParticipants(code);
  return participant?.capabilities ?? {};
}

function untilKnown(hub: TestHub, code: string, expected: Record<string, unknown>) {
  return until(
    `capabilities ${JSON.stringify(expected)}`,
    () => capabilitiesOf(hub, code),
    (known) => Object.entries(expected).every(([name, value]) => known[name] === value),
  );
}

const respond = (hub: TestHub, code: string) =>
  openaiAt(`${hub.url}/rooms/${code}/v1`).responses.create({ model: "*", input: "hi" });

test.for(PATHS)(
  "by %s, an Ollama without responses is recognised by one request, and answers them all the same",
  async (path) => {
    await using provider = await startProvider(old);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    await untilKnown(hub, code, {
      openResponses: "supported",
      chatCompletions: "supported",
      storedResponses: "unsupported",
      messages: "supported",
    });
    const isOfList = (line: string) => line === "GET /v1/models" || isDescription(line);
    expect(provider.asked.filter((line) => !isOfList(line))).toEqual([
      "GET /api/version",
      "GET /api/ps",
    ]);
    const answer = await respond(hub, code);
    expect(answer.output_text).toBe("from chat");
    expect(provider.asked.at(-1)).toMatch(/^POST \/v1\/chat\/completions /);
    expect(provider.asked.join("\n")).not.toContain("POST /v1/responses");
  },
);

test.for(PATHS)(
  "by %s, the answer made from chat streams, and its events are counted",
  async (path) => {
    await using provider = await startProvider(old);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    const events = await hub.watch(code);
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    await untilKnown(hub, code, { openResponses: "supported" });
    const client = openaiAt(`${hub.url}/rooms/${code}/v1`);
    const stream = await client.responses.create({ model: "*", input: "hi", stream: true });
    let text = "";
    let last = "";
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") text += event.delta;
      last = event.type;
    }
    expect([text, last]).toEqual(["from chat", "response.completed"]);
    const { data } = await events.next("llm.complete");
    expect(data).toMatchObject({ participantId: "ada", protocol: "openResponses" });
  },
);

test.for(PATHS)(
  "by %s, a server that tells nothing of itself is learned from its 404",
  async (path) => {
    await using provider = await startProvider(nameless);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    // Declared, so that no probe detects it before.
    const capabilities = { openResponses: "supported", chatCompletions: "supported" } as const;
    await using _ada = await join(path, hub, code, { endpoint: provider.url, capabilities });
    const answers = [await respond(hub, code), await respond(hub, code)];
    expect(answers.map((answer) => answer.output_text)).toEqual(["from chat", "from chat"]);
    const posts = provider.asked.filter((line) => line.startsWith("POST") && !line.endsWith("{}"));
    expect(posts.map((line) => line.split(" ")[1])).toEqual([
      "/v1/responses",
      "/v1/chat/completions",
      "/v1/chat/completions",
    ]);
  },
);

test.for(PATHS)(
  "by %s, a surface that was answered with 404 is not asked for again",
  async (path) => {
    await using provider = await startProvider(nameless);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url });
    const embed = () =>
      hub.fetch(`/v1/rooms/${code}/embeddings`, { json: { model: "*", input: "hi" } });
    expect((await embed()).status).toBe(404);
    await untilKnown(hub, code, { embeddings: "unsupported" });
    const refused = await embed();
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: "unsupported_protocol" } });
  },
);

test.for(PATHS)("by %s, a long question is translated as a whole", async (path) => {
  await using provider = await startProvider(old);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using _ada = await join(path, hub, code, { endpoint: provider.url });
  await untilKnown(hub, code, { openResponses: "supported" });
  const input = `hi${"!".repeat(3_000_000)}`;
  const client = openaiAt(`${hub.url}/rooms/${code}/v1`);
  expect((await client.responses.create({ model: "*", input })).output_text).toBe("from chat");
  expect(provider.asked.at(-1)).toContain(`"content":"${input}"`);
});

test("an agent probes again when its server was away, and reports to the hub without a new tunnel", async () => {
  await using provider = await startProvider(old);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const timing = { providerCheckMs: 20, providerRecheckMs: 20 };
  await using _ada = await joinTunnel(hub, code, { endpoint: provider.url, timing });
  await untilKnown(hub, code, { messages: "supported" });
  await until(
    "ten checks",
    () => provider.asked.length,
    (count) => count > 10,
  );
  expect(provider.asked.filter((line) => line === "GET /api/version")).toHaveLength(1);
  await provider.stop();
  await untilRoutable(hub, code, false);
  await provider.start(recent);
  await untilNative(hub, code);
});

test("the hub probes a direct endpoint again after an outage", async () => {
  await using provider = await startProvider(old);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await using ada = await joinDirect(hub, code, { endpoint: provider.url });
  await untilKnown(hub, code, { messages: "supported" });
  await provider.stop();
  await expect(respond(hub, code)).rejects.toMatchObject({ status: 502 });
  await provider.start(recent);
  await hub.client.heartbeat(code, ada.id, {});
  await untilNative(hub, code);
});

test("an endpoint that changes is treated as another server", async () => {
  await using first = await startProvider(old);
  await using second = await startProvider(recent);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: first.url });
  await untilKnown(hub, code, { messages: "supported" });
  const { status } = await hub.fetch(`/v1/rooms/${code}/participants/ada`, {
    method: "PUT",
    body: JSON.stringify({ endpoint: second.url }),
  });
  expect(status).toBe(200);
  await untilNative(hub, code);
});

test.for(PATHS)("by %s, what was declared stays as declared", async (path) => {
  await using provider = await startProvider(recent);
  await using hub = await startTestHub();
  const code = await hub.createRoom();
  const capabilities = { chatCompletions: "unsupported", vision: true } as const;
  await using _ada = await join(path, hub, code, { endpoint: provider.url, capabilities });
  await untilKnown(hub, code, { openResponses: "supported", messages: "supported" });
  expect(await capabilitiesOf(hub, code)).toMatchObject(capabilities);
});

/** The look at the new server is over: what it has itself is no longer translated. */
function untilNative(hub: TestHub, code: string) {
  return until(
    "the server's own responses",
    () =>
      respond(hub, code).then(
        ({ id }) => id,
        () => undefined, // away until the next probe
      ),
    (id) => id === "resp_own",
  );
}

async function untilRoutable(hub: TestHub, code: string, isRoutable: boolean): Promise<void> {
  await until(
    `a room that is ${isRoutable ? "" : "not "}routable`,
    () => hub.fetch(`/v1/rooms/${code}/models/*`).then(({ status }) => status),
    (status) => (status === 200) === isRoutable,
  );
}

test.for(PATHS)(
  "by %s, an Ollama gets one request at a time, and its loaded models are listed",
  async (path) => {
    await using provider = await startProvider(recent);
    await using hub = await startTestHub();
    const code = await hub.createRoom();
    await using _ada = await join(path, hub, code, { endpoint: provider.url, model: "m" });
    const participant = await until(
      "the loaded models",
      async () => (await hub.client.listParticipants(code))[0],
      (listed) => listed?.loadedModels !== undefined,
    );
    expect(participant?.loadedModels).toEqual(["m"]);
    expect(participant?.load).toMatchObject({ limit: 1, limitFrom: "engine" });
  },
);
