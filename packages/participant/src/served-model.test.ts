import { systemWorld } from "@roomhub/protocol";
import type { ProviderSink, ProviderRequest } from "@roomhub/provider";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ParticipantNotice } from "./notice.ts";
import { ServedModel, type ServedModelOptions } from "./served-model.ts";
import { defaultTiming } from "./timing.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_000_000 }));
afterEach(() => void vi.useRealTimers());

const endSoonMs = 1;

/** A model server of one status and one list, and what its participant reports of it. */
function start(over: Partial<ServedModelOptions> = {}, isModelListed = false) {
  const server = { status: 200, models: ["llama3"] };
  const log: string[] = [];
  const notices: ParticipantNotice[] = [];
  const call = (_request: ProviderRequest, sink: ProviderSink) => {
    setTimeout(() => {
      const data = server.models.map((id) => ({ id }));
      sink.onHead({ status: server.status, headers: {} });
      sink.onData(Buffer.from(JSON.stringify({ data })));
      sink.onEnd();
      sink.onClosed();
    }, endSoonMs);
    return { resume() {}, cancel() {}, writeBody: () => true, endBody() {} };
  };
  const served: ServedModel = new ServedModel({
    name: "llama3",
    budget: undefined,
    mayFollow: false,
    server: {
      call,
      baseUrl: "http://127.0.0.1:5000/v1",
      headers: () => ({}),
      declared: () => ({ openResponses: "supported", chatCompletions: "supported" }),
      onCapabilities: () => {},
      isModelListed,
    },
    timing: defaultTiming,
    world: systemWorld,
    rename: async (name) => void log.push(`rename ${name}`),
    onStatus: () => log.push(`status ${JSON.stringify(served.status)}`),
    notify: (notice) => notices.push(notice),
    ...over,
  });
  served.start();
  return {
    served,
    server,
    log,
    notices,
    /** until after the next look, however far that is */
    async look() {
      await vi.advanceTimersByTimeAsync(Math.ceil(served.server.lookInMs()) + 2 * endSoonMs);
    },
    [Symbol.dispose]: () => served.stop(),
  };
}

test("a readiness change is sent to the hub and as one notice, with its time", async () => {
  using one = start();
  await one.look();
  expect([one.log, one.served.status]).toEqual([[], { ready: true, readiness: "ready" }]);
  one.server.status = 503;
  await one.look();
  const sinceMs = Date.now();
  await one.look();
  one.server.status = 200;
  await one.look();
  expect(one.log).toEqual([
    'status {"ready":false,"readiness":"loading","reason":"is loading its model"}',
    'status {"ready":true,"readiness":"ready"}',
  ]);
  expect(one.notices).toEqual([
    {
      ...{ kind: "provider-readiness", readiness: "loading", problem: "is loading its model" },
      since: expect.toSatisfy((since: number) => Math.abs(since - sinceMs) <= 2 * endSoonMs),
    },
    {
      ...{ kind: "provider-readiness", readiness: "ready", problem: undefined },
      since: expect.any(Number),
    },
  ]);
});

test("a server with another model is reported as wrong-model without followModel", async () => {
  using one = start();
  await one.look();
  one.server.models = ["qwen"];
  await one.look();
  expect(one.log).toEqual([
    'status {"ready":false,"readiness":"wrong-model","reason":"now serves qwen"}',
  ]);
  expect(one.served.name).toBe("llama3");
});

test("followModel adopts the first of the server's models and renames it at the hub", async () => {
  using one = start({ mayFollow: true });
  await one.look();
  one.server.models = ["qwen", "phi"];
  await one.look();
  expect(one.served.name).toBe("qwen");
  expect(one.log).toEqual(["rename qwen"]);
  expect(one.notices).toEqual([{ kind: "model-changed", from: "llama3", to: "qwen" }]);
  one.server.models = ["gemma"];
  await one.look();
  expect(one.served.name).toBe("gemma");
});

test("a model that is swapped between its choice and the first look is followed, or reported as wrong", async () => {
  const swapped = async (mayFollow: boolean, isModelListed: boolean) => {
    using one = start({ mayFollow }, isModelListed);
    one.server.models = ["qwen"];
    await one.look();
    return [one.served.name, one.served.status.readiness];
  };
  expect(await swapped(true, true)).toEqual(["qwen", "ready"]);
  expect(await swapped(false, true)).toEqual(["llama3", "wrong-model"]);
  // A server may serve what it does not list.
  expect(await swapped(true, false)).toEqual(["llama3", "ready"]);
});

test("a restart with another model is loading, then the new name, then ready", async () => {
  using one = start({ mayFollow: true });
  await one.look();
  one.server.status = 503;
  await one.look();
  Object.assign(one.server, { status: 200, models: ["qwen"] });
  await one.look();
  expect(one.log).toEqual([
    'status {"ready":false,"readiness":"loading","reason":"is loading its model"}',
    "rename qwen",
    'status {"ready":true,"readiness":"ready"}',
  ]);
});

test("a rename that the hub refuses is reported as wrong-model and retried after 15 s", async () => {
  let isHubAway = true;
  const log: string[] = [];
  const rename = async (name: string) => {
    log.push(`rename ${name}`);
    if (isHubAway) throw new Error("no hub");
  };
  using one = start({ mayFollow: true, rename });
  await one.look();
  one.server.models = ["qwen"];
  await one.look();
  expect(one.served).toMatchObject({ name: "llama3", status: { readiness: "wrong-model" } });
  isHubAway = false;
  await vi.advanceTimersByTimeAsync(14_000);
  one.served.tick(performance.now());
  expect(log).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  one.served.tick(performance.now());
  await vi.advanceTimersByTimeAsync(0);
  expect(log).toEqual(["rename qwen", "rename qwen"]);
  expect(one.served).toMatchObject({ name: "qwen", status: { ready: true } });
});

test("a model that returns while the rename is refused keeps its name", async () => {
  const refusal = Promise.withResolvers<void>();
  using one = start({ mayFollow: true, rename: () => refusal.promise });
  await one.look();
  one.server.models = ["qwen"];
  await one.look();
  one.server.models = ["llama3"];
  await one.look();
  refusal.reject(new Error("no"));
  await vi.advanceTimersByTimeAsync(20_000);
  one.served.tick(performance.now());
  expect([one.served.name, one.log]).toEqual(["llama3", []]);
});

test("nothing is reported after stop", async () => {
  const renamed = Promise.withResolvers<void>();
  using one = start({ mayFollow: true, rename: () => renamed.promise });
  await one.look();
  one.server.models = ["qwen"];
  await one.look();
  one.served.stop();
  renamed.resolve();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([one.log, one.notices, one.served.name]).toEqual([[], [], "llama3"]);
});
