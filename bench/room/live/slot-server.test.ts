import { expect, test } from "vitest";
import { machineOf } from "../variants.ts";
import { burst, traffic } from "../traffic.ts";
import { seededRandom } from "../random.ts";
import { converse } from "./conversation-client.ts";
import { startSlotServer } from "./slot-server.ts";

const quick = machineOf(1_000, 1);

test("a slot server has the second turn of a conversation warm", async () => {
  await using server = await startSlotServer(quick);
  const wish = { conversations: 1, turns: 2, arrivalMs: 0, thinkMs: 0 };
  const [one] = traffic(seededRandom(1), wish);
  if (one === undefined) throw new Error("no conversation");
  const received = await converse(one, server.url, performance.now());
  const [first, second] = server.served;
  expect(received).toHaveLength(2);
  expect(first?.warmBytes).toBe(0);
  expect(second?.warmBytes).toBeGreaterThan(first?.promptBytes ?? Number.POSITIVE_INFINITY);
});

test("a slot server of one slot serves requests one after the other", async () => {
  await using server = await startSlotServer(quick);
  const conversations = burst(3, { userBytes: 1_000, responseTokens: 10, thinkMs: 0 });
  await Promise.all(conversations.map((one) => converse(one, server.url, performance.now())));
  const [first, second, third] = server.served;
  expect(second?.endMs).toBeGreaterThan((first?.endMs ?? Number.NaN) + 30);
  expect(third?.endMs).toBeGreaterThan((second?.endMs ?? Number.NaN) + 30);
});
