import { expect, test } from "vitest";
import { createInbox } from "./shared-source.ts";

test("what arrives between two readings is read at once, in order", async () => {
  const inbox = createInbox<number>(new AbortController().signal, () => {});
  inbox.put(1);
  inbox.put(2);
  await inbox.changed();
  expect(inbox.take()).toEqual([1, 2]);
  const later = inbox.changed();
  inbox.put(3);
  await later;
  expect(inbox.take()).toEqual([3]);
});

test("a reader is woken by the end", async () => {
  const stop = new AbortController();
  const inbox = createInbox<number>(stop.signal, () => {});
  const waiting = inbox.changed();
  stop.abort();
  await waiting;
  await inbox.changed();
  expect(inbox.take()).toEqual([]);
});

test("beyond its capacity everything is dropped, and that is reported", () => {
  let overflows = 0;
  const inbox = createInbox<number>(new AbortController().signal, () => overflows++);
  for (let value = 0; value < 10_001; value++) inbox.put(value);
  expect(overflows).toBe(1);
  expect(inbox.take()).toEqual([10_000]);
});
