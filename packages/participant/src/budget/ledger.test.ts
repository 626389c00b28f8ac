import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { array, assert, constantFrom, integer, oneof, property, record } from "fast-check";
import { expect, test } from "vitest";
import { Ledger } from "./ledger.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const midnightMs = Date.parse("2026-05-05T00:00:00Z");
const dayOf = (epochMs: number) => new Date(epochMs).toISOString().slice(0, 10);

function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), "roomhub-ledger-"));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

let writers = 0;
function open(folder: string, key = "abc"): Ledger {
  return new Ledger({ folder, key, dayOf, writerId: `w${writers++}` });
}

const actions = array(
  record({
    ledger: integer({ min: 0, max: 2 }),
    /** a process begins, with nothing in memory */
    isRestarted: constantFrom(false, false, true),
    laterMs: constantFrom(0, 1, 999, 20_000, minuteMs, dayMs / 3),
    what: oneof(
      record({ tokens: integer({ min: 1, max: 1_000 }) }),
      record({ limit: integer({ min: 1, max: 3 }) }),
    ),
  }),
  { maxLength: 60 },
);

test("after any history of several processes, each of them knows the same sums", () => {
  assert(
    property(actions, (actions) => {
      using temporary = temporaryFolder();
      const { folder } = temporary;
      const ledgers = [open(folder), open(folder), open(folder)];
      const spent: { day: string; tokens: number }[] = [];
      const startsMs: number[] = [];
      let nowMs = midnightMs - minuteMs / 2;
      for (const { ledger: index, isRestarted, laterMs, what } of actions) {
        nowMs += laterMs;
        if (isRestarted) ledgers[index] = open(folder);
        const ledger = ledgers[index]!;
        if ("tokens" in what) {
          ledger.spend(nowMs, what.tokens);
          spent.push({ day: dayOf(nowMs), ...what });
        } else {
          const isFree = ledger.sums(nowMs).nextStartMs(what.limit, nowMs) <= nowMs;
          const isStarted = isFree && ledger.start(nowMs, what.limit);
          const now = nowMs;
          const ofMinute = startsMs.filter((startMs) => now - startMs < minuteMs).length;
          // A process that began after midnight does not know the starts before it.
          if (isStarted) startsMs.push(nowMs);
          const isNewDay = !startsMs.some((startMs) => dayOf(startMs) === dayOf(now));
          if (!isNewDay && dayOf(now) === dayOf(now - minuteMs)) {
            expect(isStarted).toBe(ofMinute < what.limit);
          }
        }
        const today = spent.filter(({ day }) => day === dayOf(nowMs));
        const total = (of: typeof spent) => of.reduce((sum, { tokens }) => sum + tokens, 0);
        for (const reader of ledgers) {
          expect(reader.sums(nowMs).totalTokens).toBe(total(today));
        }
      }
    }),
    { numRuns: 60 },
  );
});

test("a start that another process entered in the same instant counts first", () => {
  using temporary = temporaryFolder();
  const [one, other] = [open(temporary.folder), open(temporary.folder)];
  expect(one.sums(midnightMs).nextStartMs(1, midnightMs)).toBe(midnightMs);
  expect(other.sums(midnightMs).nextStartMs(1, midnightMs)).toBe(midnightMs);
  expect(one.start(midnightMs, 1)).toBe(true);
  expect(other.start(midnightMs, 1)).toBe(false);
  expect(other.sums(midnightMs).nextStartMs(1, midnightMs)).toBe(midnightMs + minuteMs);
  expect(other.start(midnightMs + minuteMs, 1)).toBe(true);
});

test("a minute includes midnight", () => {
  using temporary = temporaryFolder();
  const [one, other] = [open(temporary.folder), open(temporary.folder)];
  expect(other.sums(midnightMs - 1).totalTokens).toBe(0);
  expect(one.start(midnightMs - 1, 1)).toBe(true);
  expect(one.start(midnightMs, 1)).toBe(false);
  expect(other.sums(midnightMs).nextStartMs(1, midnightMs)).toBe(midnightMs - 1 + minuteMs);
});

test("processes that write at the same time lose nothing and admit no more than the limit", async () => {
  using temporary = temporaryFolder();
  const program = `
    import { Ledger } from ${JSON.stringify(new URL("ledger.ts", import.meta.url).href)};
    const [folder, writerId] = process.argv.slice(1);
    const ledger = new Ledger({ folder, writerId, key: "abc", dayOf: () => "2026-05-05" });
    let started = 0;
    for (let count = 0; count < 400; count++) {
      if (ledger.start(${midnightMs}, 300)) started++;
      ledger.spend(${midnightMs}, 3);
    }
    console.log(started);
  `;
  const run = promisify(execFile);
  const outputs = await Promise.all(
    ["a", "b"].map((writer) =>
      run(process.execPath, ["--input-type=module", "-e", program, temporary.folder, writer]),
    ),
  );
  expect(outputs.reduce((sum, { stdout }) => sum + Number(stdout), 0)).toBe(300);
  expect(open(temporary.folder).sums(midnightMs).totalTokens).toBe(2 * 400 * 3);
});

test("lines of an earlier version, which name a person, count", () => {
  using temporary = temporaryFolder();
  open(temporary.folder).spend(midnightMs, 7);
  const [name = ""] = readdirSync(temporary.folder);
  writeFileSync(join(temporary.folder, name), "\nt 0000beef 00000000cafe 5\n", { flag: "a" });
  expect(open(temporary.folder).sums(midnightMs).totalTokens).toBe(12);
});

test("a number that a provider made up counts, as far as a line has room for it", () => {
  using temporary = temporaryFolder();
  open(temporary.folder).spend(midnightMs, Number.MAX_SAFE_INTEGER);
  expect(open(temporary.folder).sums(midnightMs).totalTokens).toBe(1e12);
});

test("a damaged line does not count, and the lines around it do", () => {
  using temporary = temporaryFolder();
  const { folder } = temporary;
  open(folder).spend(midnightMs, 7);
  const [name = ""] = readdirSync(folder);
  const text = readFileSync(join(folder, name), "latin1");
  writeFileSync(join(folder, name), `t 0000x\n\u0000\n${"x".repeat(200_000)}\n${text}t 00`);
  const ledger = open(folder);
  expect(ledger.sums(midnightMs).totalTokens).toBe(7);
  ledger.spend(midnightMs, 1);
  expect(ledger.sums(midnightMs).totalTokens).toBe(8);
});

test("a file that was removed begins anew, also for a process that has read it", () => {
  using temporary = temporaryFolder();
  const ledger = open(temporary.folder);
  ledger.spend(midnightMs, 7);
  for (const name of readdirSync(temporary.folder)) rmSync(join(temporary.folder, name));
  expect(ledger.sums(midnightMs).totalTokens).toBe(0);
  ledger.spend(midnightMs, 2);
  expect(open(temporary.folder).sums(midnightMs).totalTokens).toBe(2);
});

test("an entry that cannot be written is kept until it can", () => {
  using temporary = temporaryFolder();
  const folder = join(temporary.folder, "budgets");
  writeFileSync(folder, "a file in its place");
  const ledger = open(folder);
  expect(() => ledger.spend(midnightMs, 7)).toThrow();
  expect(() => ledger.sums(midnightMs)).toThrow();
  rmSync(folder);
  expect(ledger.sums(midnightMs).totalTokens).toBe(7);
});

test("files are for this user alone, one per day, and kept for three days", () => {
  using temporary = temporaryFolder();
  const ledger = open(join(temporary.folder, "budgets"));
  const folder = join(temporary.folder, "budgets");
  for (let day = 0; day < 6; day++) ledger.spend(midnightMs + day * dayMs, 1);
  expect(readdirSync(folder).sort()).toEqual(
    ["07", "08", "09", "10"].map((day) => `abc.2026-05-${day}`),
  );
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, "abc.2026-05-10")).mode & 0o777).toBe(0o600);
});

test("what an earlier version has written down for a person counts", () => {
  using temporary = temporaryFolder();
  const { folder } = temporary;
  open(folder).spend(midnightMs, 7);
  const [name = ""] = readdirSync(folder);
  writeFileSync(join(folder, name), "t 00000001 000000000001 5\nt 2\n");
  expect(open(folder).sums(midnightMs).totalTokens).toBe(7);
});
