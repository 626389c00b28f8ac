import { expect, test } from "vitest";
import { memoryTransportPair } from "./memory-transport.fixture.ts";
import type { MemoryTransport } from "./memory-transport.fixture.ts";

function record(transport: MemoryTransport): string[] {
  const story: string[] = [];
  transport.listen({
    onMessage: (message) => story.push(message.toString()),
    onLife: () => story.push("life"),
    onClose: (code, reason) => story.push(`close ${code} ${reason}`),
  });
  return story;
}

/** Long enough for everything on its way: each turn delivers one parcel per direction. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((done) => setImmediate(done));
}

test("messages arrive in order, then the close, on both ends once", async () => {
  const [left, right] = memoryTransportPair();
  const [leftStory, rightStory] = [record(left), record(right)];
  left.send(Buffer.from("a"));
  left.send(Buffer.from("b"));
  left.close(4001, "replaced");
  left.send(Buffer.from("too late"));
  left.close(1000, "twice");
  expect(rightStory).toEqual([]);
  await settle();
  expect(rightStory).toEqual(["a", "b", "close 4001 replaced"]);
  expect(leftStory).toEqual(["close 4001 replaced"]);
});

test("a message at the agent's end is empty once its handler has returned, one at the hub's end may be kept", async () => {
  const [hub, agent] = memoryTransportPair();
  const kept: Record<string, Buffer> = {};
  for (const [name, end] of Object.entries({ hub, agent })) {
    end.listen({ onMessage: (message) => void (kept[name] = message), onLife() {}, onClose() {} });
  }
  const sent = Buffer.from("a");
  hub.send(sent);
  agent.send(sent);
  await settle();
  expect([String(kept["hub"]), kept["agent"]?.length, String(sent)]).toEqual(["a", 0, "a"]);
});

test("a stalled end sends no pong and holds its bytes until it resumes", async () => {
  const [left, right] = memoryTransportPair();
  const [leftStory, rightStory] = [record(left), record(right)];
  right.stall();
  left.ping();
  right.send(Buffer.from("held"));
  await settle();
  expect([leftStory, rightStory, right.bufferedBytes]).toEqual([[], ["life"], 4]);
  right.unstall();
  await settle();
  expect([leftStory.toSorted(), right.bufferedBytes]).toEqual([["held", "life"], 0]);
});

test("a cut loses data in flight and closes both ends with 1006", async () => {
  const [left, right] = memoryTransportPair();
  const [leftStory, rightStory] = [record(left), record(right)];
  right.stall();
  right.send(Buffer.from("lost"));
  left.cut();
  await settle();
  expect([leftStory, rightStory]).toEqual([["close 1006 "], ["close 1006 "]]);
});
