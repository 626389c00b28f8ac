import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { aPresence } from "./cluster/directory-compliance.fixture.ts";
import { createMemoryCluster } from "./cluster/memory-cluster.fixture.ts";
import { EventBus } from "./events/bus.ts";
import { FlushingResponses } from "./http/flushing-responses.ts";
import { type HomesParts, HubHomes } from "./hub-homes.ts";
import { InFlight } from "./inference/in-flight.ts";
import { StoredResponses } from "./inference/stored-responses.ts";
import { createOffice } from "./operations/operations.fixture.ts";

const bob = { hubId: "0000000000000001", bootId: "000000b1" };
const ignore = () => {};
const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** A hub whose room has its home at another one, which has a connection to it. */
async function startHub(stack: AsyncDisposableStack) {
  const { context, room, pass } = createOffice();
  const { registry, vault, roomPasswords, limits, nowMs, wallMs } = context;
  const world = { ...context.world, monotonicMs: nowMs, wallMs };
  const bus = new EventBus("000000a1", (flush) => flush());
  const warnings: string[] = [];
  const warn = (message: string, fields?: object) =>
    void warnings.push(`${message} ${JSON.stringify(fields)}`);
  const parts: HomesParts = {
    ...{ bootId: "000000a1", version: "1.0.0", world, source: world, nowMs, registry, vault },
    ...{ roomPasswords, refuseAtLimit: ignore, closeSockets: ignore, comment: ignore },
    ...{ serve: ignore, log: { event: ignore, warn, bug: expect.unreachable } },
    ...{ operations: () => context, bus: () => bus, isDraining: () => false },
    inFlight: () => new InFlight(),
    storedResponses: () => new StoredResponses(limits.responsesPerRoom),
    pin: undefined,
    flushing: new FlushingResponses(limits.clientStallMs, nowMs),
  };
  const shared = createMemoryCluster();
  const noBeats = { nowMs, every: () => ignore };
  const [directory, others] = [shared.directory(noBeats), shared.directory(noBeats)];
  const homes = new HubHomes({ directory, secret: Buffer.alloc(32, "cluster") }, parts);
  await homes.open();
  homes.announce("http://127.0.0.1:1");
  await others.open(undefined);
  others.announce(() => ({ ...aPresence(bob.hubId), bootId: bob.bootId }));
  const [near, far] = duplexPair();
  stack.defer(() => homes.close());
  stack.defer(() => void far.destroy());
  homes.hops.control.accept(near, bob);
  await others.putHome(room, { ...bob, epoch: 1 }, 0);
  await turns();
  const ended: string[] = [];
  bus.listen(room, (events) => {
    for (const event of events) if (event.type === "llm.error") ended.push(event.requestId);
  });
  return {
    ...{ homes, room, ended, far, warnings },
    /** The room gets its home here. */
    takeRoom: async () => {
      const stored = await others.readHome(room);
      await others.putHome(room, { ...homes.self, epoch: 2 }, stored?.revision ?? 0);
      await turns();
    },
    pass: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 250) {
        pass(250);
        homes.tick();
        await turns();
      }
    },
  };
}

test.each([
  ["publishes the end of a request that its home was killed on", undefined, ["req_1"]],
  ["publishes none that the home has told it of before", "ended", []],
])("the next home %s", async (_title, note, expected) => {
  await using stack = new AsyncDisposableStack();
  const { homes, room, ended, far, takeRoom, pass } = await startHub(stack);
  expect(homes.homes.placeOf(room)).toMatchObject({ kind: "there", home: bob });
  const payload = { requestId: "req_1", client: { kind: "none", id: "" } };
  const end = {
    code: room,
    name: "llm.error",
    timestamp: "2026-01-01T00:00:00Z",
    payload,
  } as const;
  homes.handOvers.events.lost(end, bob);
  const notes = note === undefined ? [] : [[note, "req_1"]];
  far.write(`${JSON.stringify({ notes, number: 1, heard: 0 })}\n`);
  await turns();
  await takeRoom();
  expect(homes.homes.placeOf(room)).toMatchObject({ kind: "here", epoch: 2 });
  await pass(5_000);
  expect(ended).toEqual(expected);
});

test("a hub that cannot read what the home of a room gives it leaves the room there, and its log says why", async () => {
  await using stack = new AsyncDisposableStack();
  const { homes, room, warnings } = await startHub(stack);
  expect(await homes.handOvers.takeOffer(room, bob, '{"format":0}')).toBe(false);
  expect(warnings).toEqual([expect.stringMatching(`${room}.*${bob.hubId}.*another format`)]);
});
