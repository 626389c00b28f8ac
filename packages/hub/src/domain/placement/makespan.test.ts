import { expect, test } from "vitest";
import { Pace } from "./pace.ts";
import { place } from "./placement.ts";

/** A fake server: every request takes `fixedMs` and its bytes ÷ `rate`, in any slot. */
interface Server {
  fixedMs: number;
  /** bytes per ms */
  rate: number;
}

const limit = 4;
const clients = 2;
const dearToStart: Server = { fixedMs: 200, rate: 12 };
const slowToRead: Server = { fixedMs: 60, rate: 2 };

const msOf = ({ fixedMs, rate }: Server, bytes: number) => fixedMs + bytes / rate;

/** Short and long prompts mixed, after three short ones. @param seed - a whole number */
function prompts(seed: number): number[] {
  let state = seed;
  const random = () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
  const mixed = Array.from({ length: 120 }, () =>
    Math.round(random() < 0.5 ? 30 + 200 * random() : 4_000 + 8_000 * random()),
  );
  return [30, 30, 30, ...mixed];
}

/** Clients that send one prompt after the other. @returns when the last response is complete, on a fake clock */
function makespan(
  all: readonly number[],
  choose: (bytes: number, nowMs: number, running: readonly number[]) => number,
  servers: readonly Server[],
  onEnd: (index: number, bytes: number, tookMs: number, nowMs: number) => void,
): number {
  const left = [...all];
  const running: { index: number; bytes: number; startedMs: number; endMs: number }[] = [];
  let nowMs = 0;
  for (;;) {
    while (running.length < clients && left.length > 0) {
      const bytes = left.shift() ?? 0;
      const active = servers.map((_, index) => running.filter((one) => one.index === index).length);
      const index = choose(bytes, nowMs, active);
      const tookMs = msOf(servers[index] ?? slowToRead, bytes);
      running.push({ index, bytes, startedMs: nowMs, endMs: nowMs + tookMs });
    }
    running.sort((one, other) => one.endMs - other.endMs);
    const next = running.shift();
    if (next === undefined) return nowMs;
    nowMs = next.endMs;
    onEnd(next.index, next.bytes, nowMs - next.startedMs, nowMs);
  }
}

function placed(all: readonly number[], servers: readonly Server[]) {
  const paces = servers.map(() => new Pace());
  const longAt: number[] = [];
  const choose = (bytes: number, nowMs: number, running: readonly number[]): number => {
    const candidates = paces.map((pace, index) => ({
      ...{ index, pace, active: running[index] ?? 0, limit, isFree: true, startedMs: [] },
      ...{ awaited: 0, warmBytes: 0, mustLoad: false, mayBeTooSmall: false },
    }));
    const query = { promptBytes: bytes, form: "stream", nowMs, holdUntilMs: undefined } as const;
    const placement = place(candidates, query);
    if (placement.kind !== "take") throw new Error("every server has a free slot");
    const { index, pace } = placement.candidate;
    pace.noteSent("stream", bytes, nowMs);
    if (bytes >= 4_000) longAt.push(index);
    return index;
  };
  const totalMs = makespan(all, choose, servers, (index, bytes, tookMs, nowMs) => {
    const prompt = { promptBytes: bytes, coldBytes: bytes };
    paces[index]?.noteAnswer("stream", nowMs);
    paces[index]?.noteFirst("stream", prompt, tookMs, nowMs);
  });
  return { totalMs, longAt };
}

/** With a slot for every client, no assignment beats each prompt at the server that is fastest for it. */
function bestMs(all: readonly number[], servers: readonly Server[]): number {
  const fastest = (bytes: number) => {
    const times = servers.map((server) => msOf(server, bytes));
    return times.indexOf(Math.min(...times));
  };
  return makespan(all, fastest, servers, () => undefined);
}

test.each([
  ["the slow reader joined first", [slowToRead, dearToStart]],
  ["the slow reader joined last", [dearToStart, slowToRead]],
])(
  "short and long prompts take at most 1.15 times the best fixed assignment: %s",
  (_name, servers) => {
    for (let seed = 1; seed <= 20; seed++) {
      const all = prompts(seed);
      expect(placed(all, servers).totalMs / bestMs(all, servers)).toBeLessThanOrEqual(1.15);
    }
  },
);

test("short chats do not make the faster reader look slow", () => {
  const { longAt } = placed(
    [30, 30, 30, 30, 6_000, 6_000, 6_000, 6_000, 6_000],
    [slowToRead, dearToStart],
  );
  expect(longAt.filter((index) => index === 0).length).toBeLessThanOrEqual(1);
});
