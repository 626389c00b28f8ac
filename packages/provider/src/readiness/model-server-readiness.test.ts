import { systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { ModelServer, type ModelServerOptions } from "../model-server.ts";
import { type Heard, listen, type Reply, scriptServer } from "../scripted-server.fixture.ts";

const chat = "POST /v1/chat/completions";
const native = "POST /v1/responses";
const models: Reply = { body: '{"data":[{"id":"llama3"}]}' };
const loading: Reply = {
  status: 503,
  body: '{"error":{"message":"Loading model","type":"unavailable_error","code":503}}',
};

/** A server whose responses are set by their request line, and a log of its callbacks. */
function start(script: Record<string, Reply>, over: Partial<ModelServerOptions> = {}) {
  const clock = { nowMs: 0 };
  const log: string[] = [];
  const provider = scriptServer(({ line }) => script[line]);
  const server = new ModelServer({
    call: provider.call,
    baseUrl: "http://127.0.0.1:5000/v1",
    headers: () => ({}),
    declared: () => ({ openResponses: "supported", chatCompletions: "supported" }),
    onCapabilities: () => {},
    onReadiness: ({ readiness }) => log.push(readiness),
    onLookMoved: () => log.push("look moved"),
    model: () => "llama3",
    world: { ...systemWorld, monotonicMs: () => clock.nowMs },
    ...over,
  });
  return { clock, log, provider, script, server };
}

async function send(server: ModelServer, path = "/chat/completions"): Promise<Heard> {
  const body = [Buffer.from('{"model":"m","input":"hi"}')];
  const heard = listen(server, { path, body });
  await heard.closed;
  return heard;
}

describe("the verdict on a model server", () => {
  test("follows its model list", async () => {
    const { clock, log, script, server } = start({ "GET /v1/models": models });
    expect(server.lookInMs()).toBe(0);
    const replies: [Reply, string][] = [
      [models, "ready"],
      [loading, "loading"],
      [{ status: 401, body: "" }, "needs-credentials"],
      [{ body: '{"data":[{"id":"qwen"}]}' }, "wrong-model"],
      [{ status: 502, body: "" }, "down"],
      [{ failure: { code: "provider_unreachable", message: "refused" } }, "down"],
      [{ status: 404, body: "" }, "wrong-model"],
      [models, "ready"],
    ];
    for (const [reply, readiness] of replies) {
      script["GET /v1/models"] = reply;
      clock.nowMs += 1_000;
      await server.probe(1_000);
      expect([reply, server.readiness.readiness]).toEqual([reply, readiness]);
    }
    expect(server.lookInMs()).toBe(30_000);
    expect(log).toHaveLength(7);
  });

  test("changes before the response that is the cause is passed on", async () => {
    const { log, script, server } = start({ "GET /v1/models": models });
    for (const [status, body, readiness] of [
      [503, '{"error":{"message":"Loading model","type":"unavailable_error"}}', "loading"],
      [401, "{}", "needs-credentials"],
      [200, "{}", "ready"],
    ] as const) {
      script[chat] = { status, body };
      const seen: string[] = [];
      await new Promise<void>((resolve) => {
        server.call(
          { method: "POST", path: "/chat/completions", headers: {}, body: [Buffer.from("{}")] },
          {
            onHead: () => void seen.push(server.readiness.readiness, log.at(-1) ?? ""),
            onData: () => true,
            onEnd() {},
            onFailure() {},
            onClosed: resolve,
          },
        );
      });
      expect(seen[0]).toBe(readiness);
      expect(log.findLast((line) => line !== "look moved")).toBe(readiness);
    }
  });

  test("is loading after a 503 only if its body says so, which is read up to 64 KiB and passed on whole", async () => {
    const busy = '{"error":{"message":"overloaded, no slot available"}}';
    const long = `${" ".repeat(70 * 1024)}model is loading`;
    for (const [body, readiness] of [
      [busy, "ready"],
      ["", "ready"],
      [long, "ready"],
      ['{"error":"The model \\"llama\\" is currently loading"}', "loading"],
    ] as const) {
      const { script, server } = start({ "GET /v1/models": models });
      script[chat] = { status: 503, body };
      const heard = await send(server);
      expect([body.slice(0, 80), server.readiness.readiness]).toEqual([
        body.slice(0, 80),
        readiness,
      ]);
      expect(heard.body).toBe(body);
    }
  });

  test("follows every request that is sent for a response, native or by chat", async () => {
    const { clock, script, server } = start({ [native]: loading });
    await send(server, "/responses");
    expect(server.readiness.readiness).toBe("loading");
    Object.assign(script, { [native]: { status: 404, body: "" }, [chat]: { status: 401 } });
    clock.nowMs += 5_000;
    await send(server, "/responses");
    expect(server.readiness.readiness).toBe("needs-credentials");
  });

  test("follows requests of no surface too, such as those for a stored response", async () => {
    const { server } = start({ "GET /v1/responses/resp_1": { status: 407, body: "" } });
    await listen(server, { method: "GET", path: "/responses/resp_1" }).closed;
    expect(server.readiness.readiness).toBe("needs-credentials");
  });

  test("is kept while a request runs, and a probe in vain says nothing", async () => {
    const { clock, script, server } = start({ "GET /v1/models": models, [chat]: {} });
    await server.probe(1_000);
    script["GET /v1/models"] = { hangs: "before-head" };
    script[chat] = { hangs: "before-head" };
    const running = listen(server, { path: "/chat/completions", body: [] });
    clock.nowMs += 600_000;
    await server.probe(5);
    expect(server.readiness.readiness).toBe("ready");
    running.call.cancel();
    await running.closed;
    clock.nowMs += 60_000;
    await server.probe(5);
    expect(server.readiness).toMatchObject({
      readiness: "down",
      problem: "no response to GET http://127.0.0.1:5000/v1/models within 0.005 s",
    });
  });

  test("ends with other credentials, and with another model", async () => {
    const { clock, log, script, server } = start({ "GET /v1/models": models });
    await server.probe(1_000);
    script[chat] = { status: 401, body: "" };
    await send(server);
    clock.nowMs += 1_000;
    server.credentialsChanged();
    expect([server.readiness.readiness, server.lookInMs()]).toEqual(["ready", 0]);
    script["GET /v1/models"] = { body: '{"data":[{"id":"qwen"}]}' };
    await server.probe(1_000);
    server.modelChanged();
    expect(log).toEqual([
      "needs-credentials",
      "ready",
      "look moved",
      "wrong-model",
      "ready",
      "look moved",
    ]);
  });
});

test("a server of another model is looked at anew: it may be another program", async () => {
  const { provider, server } = start({ "GET /v1/models": models }, { declared: () => ({}) });
  const looks = () => provider.lines().filter((line) => line === native).length;
  await server.probe(1_000);
  await expect.poll(looks).toBe(1);
  await server.probe(1_000);
  server.modelChanged();
  await server.probe(1_000);
  await expect.poll(looks).toBe(2);
});

test("a look is due as the verdict says, and spared by bytes of a running response", async () => {
  const { clock, script, server } = start({ "GET /v1/models": models });
  expect(server.startLook()).toBe(true);
  await server.probe(1_000);
  expect(server.startLook()).toBe(false);
  script[chat] = { body: "some", hangs: "after-body" };
  const running = listen(server, { path: "/chat/completions", body: [] });
  await running.head;
  clock.nowMs += 30_000;
  expect(server.startLook()).toBe(false);
  clock.nowMs += 30_000;
  expect(server.startLook()).toBe(true);
  running.call.cancel();
  await running.closed;
});

test("a function gets no request for its models, and is ready until its responses say otherwise", async () => {
  const { clock, provider, script, server } = start({ [chat]: loading }, { isFunction: true });
  await server.probe(1_000);
  expect(provider.lines()).toEqual([]);
  await send(server);
  expect([server.readiness.readiness, server.lookInMs()]).toEqual(["loading", 1_000]);
  clock.nowMs += 1_000;
  await server.probe(1_000);
  expect(server.readiness.readiness).toBe("ready");
  script[chat] = { body: "{}" };
  await send(server);
  expect(provider.lines()).toEqual([chat, chat]);
});
