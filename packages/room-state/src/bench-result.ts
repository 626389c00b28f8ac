import { isObject, type JsonObject, parseObject } from "@roomhub/protocol";

/** What `roomhub bench --json` prints and `--save` writes; docs/reference/bench.md describes it. */
export interface BenchResult {
  version: 1;
  /** ISO 8601 */
  at: string;
  hubUrl: string;
  room: string;
  /** shortest of five round trips to the hub */
  hubRoundTripMs: number | null;
  participants: ParticipantResult[];
}

export interface ParticipantResult {
  id: string;
  nickname: string;
  model: string;
  /** tokens; null when the room does not know */
  context: number | null;
  /** why nothing was measured; absent when it was */
  skipped?: string;
  firstToken: FirstToken[];
  promptTokensPerSecond: number | null;
  generation: Generation[];
  canaries: Partial<Record<CanaryName, CanaryVerdict>>;
  errors: string[];
}

interface FirstToken {
  promptBytes: number;
  /** as the model server counts them */
  promptTokens: number | null;
  ms: number;
}

interface Generation {
  /** how many ran at once */
  requests: number;
  /** of all together; null when the model server reports no usage */
  tokensPerSecond: number | null;
}

export const canaryNames = ["tools", "schema", "vision", "needle"] as const;
export type CanaryName = (typeof canaryNames)[number];
const canaryVerdicts = ["passed", "failed", "refused"] as const;
/** `refused`: the request was an error */
export type CanaryVerdict = (typeof canaryVerdicts)[number];

/** Reads a saved result; what is not as it was written is left out. @returns undefined when it is no result */
export function readBenchResult(text: string): BenchResult | undefined {
  const saved = parseObject(text);
  if (saved?.["version"] !== 1 || !Array.isArray(saved["participants"])) return undefined;
  return {
    version: 1,
    at: textOf(saved["at"]),
    hubUrl: textOf(saved["hubUrl"]),
    room: textOf(saved["room"]),
    hubRoundTripMs: numberOf(saved["hubRoundTripMs"]),
    participants: objectsOf(saved["participants"]).map(participantOf),
  };
}

function participantOf(saved: JsonObject): ParticipantResult {
  const { canaries, errors, skipped } = saved;
  const verdictOf = (name: CanaryName) =>
    canaryVerdicts.find((verdict) => isObject(canaries) && canaries[name] === verdict);
  return {
    id: textOf(saved["id"]),
    nickname: textOf(saved["nickname"]),
    model: textOf(saved["model"]),
    context: numberOf(saved["context"]),
    ...(typeof skipped === "string" ? { skipped } : {}),
    firstToken: objectsOf(saved["firstToken"]).map((one) => ({
      promptBytes: numberOf(one["promptBytes"]) ?? 0,
      promptTokens: numberOf(one["promptTokens"]),
      ms: numberOf(one["ms"]) ?? 0,
    })),
    promptTokensPerSecond: numberOf(saved["promptTokensPerSecond"]),
    generation: objectsOf(saved["generation"]).map((one) => ({
      requests: numberOf(one["requests"]) ?? 0,
      tokensPerSecond: numberOf(one["tokensPerSecond"]),
    })),
    canaries: Object.fromEntries(
      canaryNames.flatMap((name) => {
        const verdict = verdictOf(name);
        return verdict === undefined ? [] : [[name, verdict]];
      }),
    ),
    errors: Array.isArray(errors) ? errors.filter((error) => typeof error === "string") : [],
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** @param bytes - of the prompt */
export function firstTokenMs({ firstToken }: ParticipantResult, bytes: number): number | null {
  return firstToken.find(({ promptBytes }) => promptBytes === bytes)?.ms ?? null;
}

/** Of one request, or of several at once. */
export function generationOf(
  { generation }: ParticipantResult,
  how: "alone" | "together",
): Generation | undefined {
  return generation.find(({ requests }) => (how === "alone") === (requests === 1));
}
