import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { SimulatedWorld } from "../../../protocol/src/simulated-world.fixture.ts";
import { BodyBudget } from "../inference/body-budget.ts";
import { readBody } from "./body.ts";

const mib = 1024 * 1024;

/** A body whose sink takes a number of chunks, and then nothing until the reading is resumed. */
async function aReading(takes: number) {
  const world = new SimulatedWorld({ seed: 1 });
  const budget = new BodyBudget(64 * mib);
  const stream = Object.assign(new PassThrough({ highWaterMark: 1 }), { headers: {} });
  const seen = { text: "", overs: [] as unknown[], takes };
  const limits = { maxBytes: 64 * mib, knob: "X", idleMs: 60_000, totalMs: undefined };
  const reading = readBody(
    world,
    stream as unknown as IncomingMessage,
    {} as ServerResponse,
    { ...limits, ahead: budget },
    {
      onChunk(chunk) {
        seen.text += chunk.toString();
        return --seen.takes > 0;
      },
      onOver: (error) => void seen.overs.push(error),
    },
  );
  await turn();
  /** Time for as many steps of reading ahead. */
  const pass = async (steps: number) => {
    for (let step = 0; step < steps; step++) {
      await world.advance(step === 0 ? 1_000 : 20);
      await turn();
      await turn();
    }
  };
  return { stream, seen, reading, budget, pass };
}

test("a body is read ahead while its sink takes nothing, and passes whole and in order", async () => {
  const { stream, seen, reading, budget, pass } = await aReading(1);
  for (const letter of "abcdef") stream.write(letter);
  await turn();
  expect([seen.text, budget.bytes]).toEqual(["a", 0]);
  stream.end("g");
  await pass(8);
  expect([seen.text, budget.bytes, seen.overs]).toEqual(["a", 6, []]);
  seen.takes = 2;
  reading.resume();
  expect([seen.text, budget.bytes, seen.overs]).toEqual(["abc", 4, []]);
  seen.takes = 9;
  reading.resume();
  expect([seen.text, budget.bytes, seen.overs]).toEqual(["abcdefg", 0, [undefined]]);
});

test("a client that leaves behind what it had sent is noticed, and what was read ahead is given back", async () => {
  const { stream, seen, budget, pass } = await aReading(1);
  for (const letter of "abcd") stream.write(letter);
  await pass(3);
  expect(budget.bytes).toBe(3);
  stream.destroy();
  await turn();
  expect(seen.overs).toMatchObject([{ code: "client_disconnected" }]);
  expect([seen.text, budget.bytes]).toEqual(["a", 0]);
});

test("no more is read ahead than 12 MiB, nor than there is room for", async () => {
  const large = await aReading(1);
  for (let count = 0; count < 20; count++) large.stream.write(Buffer.alloc(mib));
  await large.pass(20);
  expect(large.budget.bytes).toBe(12 * mib);
  const full = await aReading(1);
  full.budget.hold(64 * mib);
  full.stream.write("ab");
  full.stream.write("c");
  await full.pass(3);
  expect(full.budget.bytes).toBe(64 * mib);
  full.reading.stop();
});
