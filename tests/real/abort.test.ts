import { expect, test } from "vitest";
import { settled } from "../support/hub/ledger.ts";
import { type Path, PATHS } from "../support/hub/joining.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { until } from "../support/waiting.ts";
import { describeReal } from "./binary.ts";
import { type Lab, startLab } from "./lab.ts";
import { isBusy, type LlamaServer, startLlamaServer } from "./llama-server.ts";
import { startTap, type Tap, type TappedConnection } from "./tap.ts";

const surfaces = {
  "/chat/completions": { messages: userSays("an aborted one"), max_tokens: 16_000 },
  "/responses": { input: "an aborted one", max_output_tokens: 16_000 },
  "/messages": { messages: userSays("an aborted one"), max_tokens: 16_000 },
} as const;
const surfaceNames = Object.keys(surfaces) as (keyof typeof surfaces)[];

describeReal.for(PATHS)("an abort by %s", (path) => {
  test.for(surfaceNames)("ends the generation of a stream, %s", async (surface) => {
    await using world = await startWorld(path);
    const { lab, llama } = world;
    const leave = new AbortController();

    const answer = await lab.post(
      surface,
      { model: "*", ...surfaces[surface], ignore_eos: true, stream: true },
      { signal: leave.signal },
    );
    await answer.body?.getReader().read();
    leave.abort();

    const wire = await untilClosed(world);
    expect(wire.isClosedByCaller).toBe(true);
    expect(wire.received.toString()).not.toMatch(/\[DONE\]|message_stop|response\.completed/);
    await untilIdle(llama);
    await endedByClient(lab);
  });

  test.for(surfaceNames)("closes the server's socket of a plain request, %s", async (surface) => {
    await using world = await startWorld(path);
    const { lab, llama } = world;
    const leave = new AbortController();

    const answer = lab.post(
      surface,
      { model: "*", ...surfaces[surface], ignore_eos: true },
      { signal: leave.signal },
    );
    answer.catch(() => undefined);
    await until("a slot at work", () => llama.slots(), isBusy);
    leave.abort();

    const wire = await untilClosed(world);
    expect(wire.isClosedByCaller).toBe(true);
    // Responses to earlier requests may have come on the same connection.
    expect(wire.received.toString()).not.toMatch(/completion_tokens|output_tokens/);
    await endedByClient(lab);
    await until(
      "nothing to run there",
      async () => (await lab.client.getParticipant(lab.code, "ada")).load,
      ({ active }) => active === 0,
    );
  });

  test("closes the socket of a request that the server has not read", async () => {
    await using world = await startWorld(path);
    const { lab, llama } = world;
    const leave = new AbortController();
    llama.signal("SIGSTOP");

    const answer = lab.post(
      "/chat/completions",
      { model: "*", ...surfaces["/chat/completions"], stream: true },
      { signal: leave.signal },
    );
    answer.catch(() => undefined);
    await world.tap.carrying("an aborted one");
    leave.abort();

    expect((await untilClosed(world)).isClosedByCaller).toBe(true);
    await endedByClient(lab);

    llama.signal("SIGCONT");
    const next = await lab.post("/chat/completions", {
      model: "*",
      messages: userSays("the next one"),
      max_tokens: 5,
    });
    expect(next.status).toBe(200);
  });

  test("of a request that waits never reaches the server, and does not end the one before it", async () => {
    await using world = await startWorld(path, { maxConcurrency: 1 });
    const { lab, tap } = world;
    const leaveFirst = new AbortController();
    const leaveSecond = new AbortController();
    const long = { ...surfaces["/chat/completions"], ignore_eos: true, stream: true };

    const first = await lab.post(
      "/chat/completions",
      { model: "*", ...long },
      { signal: leaveFirst.signal },
    );
    await first.body?.getReader().read();
    const second = lab.post(
      "/chat/completions",
      { model: "*", ...long, messages: userSays("a waiting one") },
      { signal: leaveSecond.signal },
    );
    second.catch(() => undefined);
    await until(
      "a request in the queue",
      async () => (await lab.client.getParticipant(lab.code, "ada")).load,
      ({ queued }) => queued === 1,
    );
    leaveSecond.abort();

    await settled(lab.events, 1);
    expect(lab.events.of("llm.error")[0]?.data).toMatchObject({
      code: "client_disconnected",
      attempts: 0,
    });
    expect((await tap.carrying("an aborted one")).isClosed).toBe(false);
    leaveFirst.abort();
    await settled(lab.events, 2);
    expect(tap.connections.some(({ sent }) => sent.includes("a waiting one"))).toBe(false);
  });
});

interface World extends AsyncDisposable {
  lab: Lab;
  llama: LlamaServer;
  tap: Tap;
}

async function startWorld(path: Path, config: { maxConcurrency?: number } = {}): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const llama = stack.use(await startLlamaServer({ alias: "tiny" }));
  const tap = stack.use(await startTap(llama.port));
  const lab = stack.use(await startLab());
  const limit = config.maxConcurrency ?? 4;
  stack.use(
    path === "direct"
      ? await lab.register(tap.url, { config: { maxConcurrency: limit } })
      : await lab.join(tap.url, ["--model", "tiny", "--max-concurrency", String(limit)]),
  );
  const owned = stack.move();
  return { lab, llama, tap, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function untilClosed({ tap }: World): Promise<TappedConnection> {
  const wire = await tap.carrying("an aborted one");
  await until(
    "the server's socket to close",
    () => wire,
    ({ isClosed }) => isClosed,
  );
  return wire;
}

async function untilIdle(llama: LlamaServer): Promise<void> {
  await until(
    "the slots to be free",
    () => llama.slots(),
    (slots) => !isBusy(slots),
  );
}

async function endedByClient({ events }: Lab): Promise<void> {
  await settled(events, 1);
  expect(events.of("llm.complete")).toEqual([]);
  expect(events.of("llm.error").map(({ data }) => [data["stage"], data["code"]])).toEqual([
    ["client", "client_disconnected"],
  ]);
}
