import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type EventRecorder, recordEvents } from "../support/hub/event-recorder.ts";
import { type LedgerEntry, ledgerOf, ledgerProblems } from "../support/hub/ledger.ts";
import {
  hasNatsServer,
  type NatsServer,
  natsSkipped,
  startNatsServer,
} from "../support/programs/nats-server.ts";
import { freePort } from "../support/programs/nginx.ts";
import {
  type RoomhubProcess,
  startHubProcess,
  startParticipantProcess,
  startRoomhub,
} from "../support/programs/roomhub-process.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

const natsAwayMs = 30_000;

interface World {
  nats: NatsServer;
  hubs: [HubProcess, HubProcess, HubProcess];
  code: string;
}

type HubProcess = RoomhubProcess & { url: string };

/** Three hubs as processes, and at each a participant `p1`, `p2`, `p3`. */
async function startWorld(stack: AsyncDisposableStack): Promise<World> {
  const nats = stack.use(await startNatsServer());
  const { path } = stack.use(await temporaryFolder());
  const secretPath = join(path, "secret");
  await writeFile(secretPath, randomBytes(32).toString("hex"), { mode: 0o600 });
  const start = async (): Promise<HubProcess> => {
    const cluster = ["--nats", nats.url, "--cluster-secret-file", secretPath];
    return stack.use(await startHubProcess(["--port", String(await freePort()), ...cluster]));
  };
  const hubs: World["hubs"] = [await start(), await start(), await start()];
  const created = await post(`${hubs[0].url}/rooms`, { name: "lab" });
  const { room } = (await created.json()) as { room: { code: string } };
  for (const [n, hub] of hubs.entries()) {
    await untilJson(`${hub.url}/rooms/${room.code}`, () => true);
    const provider = stack.use(await startFakeProvider());
    const options = ["--endpoint", provider.url, "--model", "fake-model", "--id", `p${n + 1}`];
    stack.use(await startParticipantProcess(hub.url, room.code, [...options, "--yes"]));
  }
  const world = { nats, hubs, code: room.code };
  for (const hub of hubs) {
    for (const id of ["p1", "p2", "p3"]) await servedBy(world, hub, id);
  }
  return world;
}

function post(url: string, body: object): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

async function chat({ code }: World, hub: HubProcess, model: string): Promise<number> {
  const messages = [{ role: "user", content: "Hello" }];
  const url = `${hub.url}/rooms/${code}/v1/chat/completions`;
  const response = await post(url, { model, messages });
  await response.text();
  return response.status;
}

function servedBy(world: World, hub: HubProcess, model: string): Promise<number> {
  return until(
    `${model} to serve`,
    () => chat(world, hub, model),
    (status) => status === 200,
  );
}

async function untilJson(url: string, holds: (body: never) => boolean): Promise<void> {
  const isThere = async () => {
    const response = await fetch(url);
    return response.ok && holds((await response.json()) as never);
  };
  await until(url, isThere, (isSo) => isSo);
}

/** Requests at a hub, one after the other, until they are stopped. @returns their statuses */
function keepAsking(world: World, hub: HubProcess, models: readonly string[]) {
  const stopped = new AbortController();
  const statuses: number[] = [];
  const running = (async () => {
    for (let n = 0; !stopped.signal.aborted; n++) {
      statuses.push(await chat(world, hub, models[n % models.length] ?? "*"));
    }
  })();
  return {
    async stop(): Promise<number[]> {
      stopped.abort();
      await running;
      return statuses;
    },
  };
}

/**
 * Resolves once the events of requests at the first hub reach the watchers of all: a hub learns over its link that a room is
 * watched elsewhere, a moment after the stream was opened.
 */
async function watchedEverywhere(
  world: World,
  first: HubProcess,
  streams: readonly EventRecorder[],
): Promise<void> {
  for (let asked = 1; ; asked++) {
    expect(await chat(world, first, "p1")).toBe(200);
    await streams[0]?.waitFor("its end", (own) => own.of("llm.complete").length === asked);
    const last = streams[0]?.of("llm.complete").at(-1)?.data["requestId"];
    const hasLast = (events: EventRecorder) =>
      events.of("llm.complete").some(({ data }) => data["requestId"] === last);
    const seen = streams.map((events) => events.waitFor("the same", hasLast, 500));
    const outcomes = await Promise.allSettled(seen);
    if (outcomes.every(({ status }) => status === "fulfilled")) return;
    expect(asked).toBeLessThan(20);
  }
}

/** By what each of the streams says, all that began there has ended, once, and so many were served. */
async function ledgersAgree(streams: readonly EventRecorder[], served: number): Promise<void> {
  for (const events of streams) {
    // The end of a request from before the stream may come late.
    const begun = () => ledgerOf(events).filter(({ requests }) => requests.length > 0);
    await events.waitFor("all ends", () => begun().every(({ ends }) => ends.length > 0));
    await events.waitFor("what was served", () => begun().filter(isServed).length >= served);
    expect(begun().filter(isServed)).toHaveLength(served);
    expect(ledgerProblems(events)).toEqual([]);
  }
}

function isServed({ ends }: LedgerEntry): boolean {
  return ends.some(({ kind }) => kind === "llm.complete");
}

describe.skipIf(!hasNatsServer)(`three hubs as processes${natsSkipped}`, () => {
  test("go on when one is killed: its participant serves through another within 5 s, never offline", async () => {
    await using stack = new AsyncDisposableStack();
    const world = await startWorld(stack);
    const [one, two, three] = world.hubs;
    const watch = async ({ url }: HubProcess) =>
      stack.use(await recordEvents(`${url}/v1/rooms/${world.code}/events`));
    await watchedEverywhere(world, one, [await watch(one), await watch(two)]);
    const streams = [await watch(one), await watch(two)];
    const load = keepAsking(world, one, ["p1", "p2"]);
    await three.kill("SIGKILL");
    const killedMs = performance.now();
    await servedBy(world, two, "p3");
    expect(performance.now() - killedMs).toBeLessThan(5_000);
    const statuses = await load.stop();
    expect(new Set(statuses)).toEqual(new Set([200]));
    for (const events of streams) {
      expect([...events.of("participant.offline"), ...events.of("participant.left")]).toEqual([]);
    }
    await ledgersAgree(streams, statuses.length + 1);
  });

  test("serve what is connected while NATS is away for 30 s, say so, and are right 5 s after it is back", async () => {
    await using stack = new AsyncDisposableStack();
    const world = await startWorld(stack);
    const [one, two] = world.hubs;
    const load = keepAsking(world, one, ["p1", "p2", "p3"]);
    await world.nats.kill();
    await untilJson(`${one.url}/health`, ({ status }) => status === "degraded");
    expect((await post(`${one.url}/rooms`, { name: "new" })).status).toBe(503);
    await passed(natsAwayMs);
    expect(new Set(await load.stop())).toEqual(new Set([200]));
    await world.nats.restart();
    const backMs = performance.now();
    for (const { url } of world.hubs) {
      await untilJson(`${url}/health`, ({ status }) => status === "ok");
    }
    expect(performance.now() - backMs).toBeLessThan(5_500);
    const created = await post(`${one.url}/rooms`, { name: "new" });
    const { room } = (await created.json()) as { room: { code: string } };
    await untilJson(`${two.url}/rooms/${room.code}`, () => true);
    for (const id of ["p1", "p2", "p3"]) expect(await chat(world, two, id)).toBe(200);
  });

  test("leave their id to them while they run, and give it to the next process when they were killed", async () => {
    await using stack = new AsyncDisposableStack();
    const nats = stack.use(await startNatsServer());
    const { path } = stack.use(await temporaryFolder());
    const secretPath = join(path, "secret");
    await writeFile(secretPath, randomBytes(32).toString("hex"), { mode: 0o600 });
    const advertiseUrl = "http://hub.example:5050";
    const argumentsFor = (port: number) => [
      ...["--nats", nats.url, "--cluster-secret-file", secretPath],
      ...["--advertise", advertiseUrl, "--port", String(port)],
    ];
    const first = stack.use(await startHubProcess(argumentsFor(await freePort())));
    const port = await freePort();
    const second = stack.use(startRoomhub(["serve", ...argumentsFor(port)]));
    await expect(second.line("its URL", () => true)).rejects.toThrow(
      /A hub running since .* reached at http:\/\/hub\.example:5050, this one at http:\/\/hub\.example:5050\n→ give each hub .*--advertise/,
    );
    await first.kill("SIGKILL");
    const again = stack.use(await startHubProcess(argumentsFor(port)));
    expect((await fetch(`${again.url}/health`)).status).toBe(200);
    expect(again.output).not.toContain("has the id of this one");
  });
});
