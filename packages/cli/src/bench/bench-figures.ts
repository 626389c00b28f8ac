import type { BenchResult, ParticipantResult } from "@roomhub/room-state";

/** One streamed response, as the client measured it. */
export interface Sample {
  startedMs: number;
  firstTokenMs: number;
  endedMs: number;
  promptTokens: number | null;
  outputTokens: number | null;
}

/** How fast a prompt is read, from the additional time that a longer one takes: everything else takes both the same time. */
export function promptRate(samples: readonly Sample[]): number | null {
  const timed = samples.flatMap(({ startedMs, firstTokenMs, promptTokens }) =>
    promptTokens === null ? [] : [{ ms: firstTokenMs - startedMs, tokens: promptTokens }],
  );
  const sorted = timed.toSorted((one, other) => one.tokens - other.tokens);
  const [short, long] = [sorted[0], sorted.at(-1)];
  if (short === undefined || long === undefined) return null;
  const isOne = sorted.length === 1 || long.ms <= short.ms;
  return isOne ? rate(long.tokens, long.ms) : rate(long.tokens - short.tokens, long.ms - short.ms);
}

/** How fast responses that ran together were generated, after the first token of any. */
export function generationRate(samples: readonly Sample[]): number | null {
  if (samples.some(({ outputTokens }) => outputTokens === null)) return null;
  const tokens = samples.reduce((sum, { outputTokens }) => sum + (outputTokens ?? 0) - 1, 0);
  const beganMs = Math.min(...samples.map(({ firstTokenMs }) => firstTokenMs));
  const endedMs = Math.max(...samples.map((sample) => sample.endedMs));
  return rate(tokens, endedMs - beganMs);
}

function rate(tokens: number, ms: number): number | null {
  return ms <= 0 || tokens <= 0 ? null : Math.round((tokens / ms) * 10_000) / 10;
}

/** A difference between two results that is worth a line. */
export interface Change {
  id: string;
  what: string;
  from: number | string | null;
  to: number | string | null;
}

/** Smaller differences come and go by themselves. */
const leastShare = 0.1;

/** What changed since an earlier result, by participants' ids. */
export function changesSince(before: BenchResult, after: BenchResult): Change[] {
  const ids = new Set([...before.participants, ...after.participants].map(({ id }) => id));
  return [...ids].flatMap((id) => {
    const [old, now] = [before, after].map((result) => measuredOf(result, id));
    if (old === undefined || now === undefined) {
      if (old === now) return [];
      const state = (one: ParticipantResult | undefined) => (one === undefined ? "no" : "yes");
      return [{ id, what: "measured", from: state(old), to: state(now) }];
    }
    const [then, today] = [factsOf(old), factsOf(now)];
    const names = new Set([...then.keys(), ...today.keys()]);
    return [...names].flatMap((what) => {
      const [from, to] = [then.get(what) ?? null, today.get(what) ?? null];
      return isSame(from, to) ? [] : [{ id, what, from, to }];
    });
  });
}

function measuredOf({ participants }: BenchResult, id: string): ParticipantResult | undefined {
  return participants.find((one) => one.id === id && one.skipped === undefined);
}

function factsOf(result: ParticipantResult): Map<string, number | string | null> {
  return new Map<string, number | string | null>([
    ["model", result.model],
    ["context", result.context],
    ...result.firstToken.map(({ promptBytes, ms }): [string, number] => [
      `ms to the first token of ${promptBytes / 1024} KB`,
      ms,
    ]),
    ["prompt tokens/s", result.promptTokensPerSecond],
    ...result.generation.map(({ requests, tokensPerSecond }): [string, number | null] => [
      `output tokens/s at ${requests}`,
      tokensPerSecond,
    ]),
    ...Object.entries(result.canaries),
    ["errors", result.errors.length],
  ]);
}

function isSame(from: Change["from"], to: Change["to"]): boolean {
  if (typeof from !== "number" || typeof to !== "number") return from === to;
  return Math.abs(to - from) <= leastShare * Math.max(Math.abs(from), Math.abs(to));
}
