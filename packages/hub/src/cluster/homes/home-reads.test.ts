import { expect, test } from "vitest";
import { DirectoryUnavailable } from "../directory.ts";
import { HomeReads } from "./home-reads.ts";
import type { StoredHome } from "./room-home.ts";

function someReads() {
  const under: { code: string; answer: (epoch: number) => void; fail: () => void }[] = [];
  const read: string[] = [];
  const failures: string[] = [];
  const reads = new HomeReads({
    readHome: (code) =>
      new Promise<StoredHome | undefined>((resolve, reject) =>
        under.push({
          code,
          answer: (epoch) =>
            resolve({ home: { hubId: "a", bootId: "a1", epoch }, revision: epoch }),
          fail: () => reject(new DirectoryUnavailable("away")),
        }),
      ),
    onRead: (code, stored) => void read.push(`${code} ${stored?.home.epoch}`),
    onFailed: () => void failures.push("failed"),
    reportBug: (error) => void failures.push(String(error)),
  });
  return { reads, under, read, failures };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("only the reply to the latest read of a room counts", async () => {
  const { reads, under, read } = someReads();
  reads.begin("R1");
  reads.begin("R1");
  under[1]?.answer(2);
  await settled();
  under[0]?.answer(1);
  await settled();
  expect(read).toEqual(["R1 2"]);
  expect(reads.isPending("R1")).toBe(false);
});

test("a reply that was on its way while this process was suspended does not count", async () => {
  const { reads, under, read } = someReads();
  reads.begin("R1");
  expect(reads.giveUp()).toEqual(["R1"]);
  under[0]?.answer(1);
  await settled();
  expect(read).toEqual([]);
});

test("a failed read is repeated when the directory responds, and not before", async () => {
  const { reads, under, read, failures } = someReads();
  reads.begin("R1");
  under[0]?.fail();
  await settled();
  expect([failures, reads.isPending("R1"), under.length]).toEqual([["failed"], true, 1]);
  reads.retry();
  under[1]?.answer(1);
  await settled();
  expect(read).toEqual(["R1 1"]);
});
