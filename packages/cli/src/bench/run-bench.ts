import { errorFromResponse, type Invite, isRoomhubError } from "@roomhub/client";
import {
  isLiveAndReady,
  isObject,
  isSameModel,
  type JsonObject,
  type MeasuredFeatures,
  NAME_KEY_PREFIX,
  parseObject,
  type ParticipantSummary,
  pause,
  readUsage,
} from "@roomhub/protocol";
import {
  type BenchResult,
  type CanaryName,
  canaryNames,
  type ParticipantResult,
} from "@roomhub/room-state";
import { contextOf } from "../chat/model-choices.ts";
import { requestAnswer } from "../chat/request-answer.ts";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { reasonOf, safe } from "../terminal/text.ts";
import { generationRate, promptRate, type Sample } from "./bench-figures.ts";
import { canaries, type CanaryOutcome, provenFeatures } from "./canaries.ts";
import { promptOf } from "./prompts.ts";

export interface BenchOptions extends Invite {
  /** of one participant, or a model; undefined for all */
  only: string | undefined;
  /** whether to spend the budgets of participants that have one */
  spendsBudgets: boolean;
  /** to tell the room what models were seen to do; not needed on the hub's machine */
  hostToken: string | undefined;
  signal: AbortSignal;
  /** called before each participant */
  onParticipant: (participant: ParticipantSummary) => void;
}

const promptSizes = [1024, 16 * 1024];
/** Tokens that a prompt of random words takes at most, with room for the response. */
const tokensOf = (bytes: number) => bytes / 2 + outputTokens;
const outputTokens = 128;
/** A model that reasons needs some before it responds. */
const canaryTokens = 1024;
const mostAtOnce = 8;
/** How often the room is looked at while it is busy, and how often at most. */
const [pauseMs, mostPauses] = [250, 240];
/** Shown to the room. */
const as = "roomhub-bench";

/** Measures a room's participants, one after the other, and only while the room has nothing else to do. */
export async function runBench(context: CliContext, options: BenchOptions): Promise<BenchResult> {
  const { hubUrl, room, only } = options;
  const client = context.createClient(hubUrl);
  const all = await client.listParticipants(room);
  const named = all.filter(
    ({ id, model }) => only === undefined || id === only || isSameModel(model, only),
  );
  const participants: ParticipantResult[] = [];
  for (const participant of named) {
    options.signal.throwIfAborted();
    options.onParticipant(participant);
    participants.push(await measure(context, options, participant));
  }
  return {
    version: 1,
    at: new Date(context.world.wallMs()).toISOString(),
    hubUrl,
    room,
    hubRoundTripMs: await roundTripMs(context, hubUrl),
    participants,
  };
}

async function roundTripMs(context: CliContext, hubUrl: string): Promise<number | null> {
  const client = context.createClient(hubUrl);
  let least = Number.POSITIVE_INFINITY;
  for (let trip = 0; trip < 5; trip++) {
    const startedMs = context.world.wallMs();
    await client.health();
    least = Math.min(least, context.world.wallMs() - startedMs);
  }
  return least;
}

async function measure(
  context: CliContext,
  options: BenchOptions,
  participant: ParticipantSummary,
): Promise<ParticipantResult> {
  const { id, nickname, model, load } = participant;
  const tokens = contextOf([participant], "*") ?? null;
  const result: ParticipantResult = {
    ...{ id, nickname, model, context: tokens },
    ...{ firstToken: [], promptTokensPerSecond: null, generation: [], canaries: {}, errors: [] },
  };
  const reason = reasonToSkip(participant, options);
  if (reason !== undefined) return { ...result, skipped: reason };
  /** One step; what fails is noted, and the next one follows. */
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    await untilQuiet(context, options, id);
    try {
      return await work();
    } catch (error) {
      options.signal.throwIfAborted();
      result.errors.push(safe(reasonOf(error)));
      return undefined;
    }
  };
  const samples: Sample[] = [];
  for (const bytes of promptSizes) {
    if (tokens !== null && tokensOf(bytes) > tokens) continue;
    const sample = await attempt(() => sampleOf(context, options, id, bytes));
    if (sample === undefined) continue;
    samples.push(sample);
    const { startedMs, firstTokenMs, promptTokens } = sample;
    result.firstToken.push({ promptBytes: bytes, promptTokens, ms: firstTokenMs - startedMs });
  }
  result.promptTokensPerSecond = promptRate(samples);
  const [alone] = samples;
  if (alone !== undefined) {
    result.generation.push({ requests: 1, tokensPerSecond: generationRate([alone]) });
  }
  const requests = Math.min(mostAtOnce, load.limit);
  if (alone !== undefined && requests > 1) {
    const together = await attempt(() =>
      Promise.all(
        Array.from({ length: requests }, () => sampleOf(context, options, id, promptSizes[0] ?? 0)),
      ),
    );
    if (together !== undefined) {
      result.generation.push({ requests, tokensPerSecond: generationRate(together) });
    }
  }
  const outcomes = await outcomesOf(context, options, result, attempt);
  await report(context, options, id, provenFeatures(outcomes));
  return result;
}

/** Runs the canaries one after the other, and notes their verdicts. */
async function outcomesOf(
  context: CliContext,
  options: BenchOptions,
  { id, context: tokens, canaries: verdicts }: ParticipantResult,
  attempt: <T>(work: () => Promise<T>) => Promise<T | undefined>,
): Promise<Record<CanaryName, CanaryOutcome>> {
  const checks = canaries(tokens, () => context.world.random());
  const outcomes = {} as Record<CanaryName, CanaryOutcome>;
  for (const name of canaryNames) {
    const { fields, holds } = checks[name];
    let status: number | undefined;
    const message = await attempt(() =>
      completionOf(context, options, id, fields, (refused) => (status = refused)),
    );
    const verdict = message === undefined ? "refused" : holds(message) ? "passed" : "failed";
    verdicts[name] = verdict;
    outcomes[name] = { verdict, message, status };
  }
  return outcomes;
}

/** Tells the room what its model was seen to do. Only the host may: for others the result is all there is. */
async function report(
  context: CliContext,
  { hubUrl, room, hostToken, signal }: BenchOptions,
  id: string,
  proven: MeasuredFeatures,
): Promise<void> {
  try {
    const client = context.createClient(hubUrl);
    await client.setMeasuredFeatures(room, id, proven, { hostToken, signal });
  } catch (error) {
    // Also a hub of an earlier version, and a participant that has left since.
    if (!isRoomhubError(error)) throw error;
  }
}

function reasonToSkip(
  participant: ParticipantSummary,
  { spendsBudgets }: BenchOptions,
): string | undefined {
  const { budget, capabilities, connection, status } = participant;
  if (status === "offline") return "offline";
  if (!isLiveAndReady(participant)) return connection.problem ?? "cannot take a request now";
  if (capabilities.chatCompletions === "unsupported") return "cannot chat";
  if (budget !== undefined && !spendsBudgets) return "has a budget; --yes spends of it";
  return undefined;
}

/** Waits until no request waits in the room and none runs at the participant. @throws CommandError when it stays busy */
async function untilQuiet(
  context: CliContext,
  { hubUrl, room, signal }: BenchOptions,
  id: string,
): Promise<void> {
  for (let pauses = 0; pauses < mostPauses; pauses++) {
    signal.throwIfAborted();
    const route = await context.createClient(hubUrl).explainRoute(room, { model: id });
    const own = route.participants.find((candidate) => candidate.id === id);
    if (route.queue.waiting === 0 && (own?.load.active ?? 0) === 0) return;
    await pause(context.world, pauseMs, signal);
  }
  throw new CommandError(
    `Room ${room} is busy: requests wait, or run at ${safe(id)}`,
    "measure it when it is quiet: roomhub top shows what runs",
  );
}

async function sampleOf(
  context: CliContext,
  { hubUrl, room, signal }: BenchOptions,
  id: string,
  bytes: number,
): Promise<Sample> {
  const startedMs = context.world.wallMs();
  const { usage, ttftMs, durationMs } = await requestAnswer(
    context,
    {
      ...{ hubUrl, room, surface: "chat", model: id, as, session: undefined },
      messages: [{ role: "user", content: promptOf(bytes, () => context.world.random()) }],
      fields: { max_tokens: outputTokens },
    },
    { onText: () => undefined, onReasoning: () => undefined },
    signal,
  );
  if (ttftMs === undefined) throw new Error(`${id} responded without a token`);
  const { inputTokens = null, outputTokens: generated = null } = readUsage(usage);
  return {
    startedMs,
    firstTokenMs: startedMs + ttftMs,
    endedMs: startedMs + durationMs,
    promptTokens: inputTokens,
    outputTokens: generated,
  };
}

/** The message of a response that is not a stream. */
async function completionOf(
  context: CliContext,
  { hubUrl, room, signal }: BenchOptions,
  id: string,
  fields: JsonObject,
  onRefused: (status: number) => void,
): Promise<JsonObject> {
  const baseUrl = context.createClient(hubUrl).baseUrl(room);
  const response = await context.fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${NAME_KEY_PREFIX}${as}`,
    },
    body: JSON.stringify({ model: id, max_tokens: canaryTokens, ...fields }),
    signal,
  });
  const text = await response.text();
  if (!response.ok) {
    onRefused(response.status);
    throw errorFromResponse(response, text);
  }
  const choices = parseObject(text)?.["choices"];
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const message = isObject(choice) ? choice["message"] : undefined;
  return isObject(message) ? message : {};
}
