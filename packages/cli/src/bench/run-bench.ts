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
import type { Client } from "../capabilities.ts";
import { contextOf } from "../chat/model-choices.ts";
import { requestAnswer } from "../chat/request-answer.ts";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { reasonOf, safe } from "../terminal/text.ts";
import { generationRate, promptRate, type Sample } from "./bench-figures.ts";
import { canaries, type CanaryOutcome, promptOf, provenFeatures } from "./canaries.ts";

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
/** Pause between two looks at a busy room, and the most looks. */
const [pauseMs, mostPauses] = [250, 240];
/** Shown to the room. */
const as = "roomhub-bench";

/** Measures a room's participants, one after the other, and only while the room has nothing else to do. */
export function runBench(context: CliContext, options: BenchOptions): Promise<BenchResult> {
  return new BenchRun(context, options).run();
}

class BenchRun {
  readonly #context: CliContext;
  readonly #options: BenchOptions;
  readonly #client: Client;

  constructor(context: CliContext, options: BenchOptions) {
    this.#context = context;
    this.#options = options;
    this.#client = context.createClient(options.hubUrl);
  }

  async run(): Promise<BenchResult> {
    const { hubUrl, room, only, signal, onParticipant } = this.#options;
    const all = await this.#client.listParticipants(room);
    const named = all.filter(
      ({ id, model }) => only === undefined || id === only || isSameModel(model, only),
    );
    const participants: ParticipantResult[] = [];
    for (const participant of named) {
      signal.throwIfAborted();
      onParticipant(participant);
      participants.push(await this.#measure(participant));
    }
    const at = new Date(this.#context.world.wallMs()).toISOString();
    const hubRoundTripMs = await this.#roundTripMs();
    return { version: 1, at, hubUrl, room, hubRoundTripMs, participants };
  }

  async #roundTripMs(): Promise<number> {
    const { world } = this.#context;
    let least = Number.POSITIVE_INFINITY;
    for (let trip = 0; trip < 5; trip++) {
      const startedMs = world.wallMs();
      await this.#client.health();
      least = Math.min(least, world.wallMs() - startedMs);
    }
    return least;
  }

  async #measure(participant: ParticipantSummary): Promise<ParticipantResult> {
    const { id, nickname, model, load } = participant;
    const tokens = contextOf([participant], "*") ?? null;
    const result: ParticipantResult = {
      ...{ id, nickname, model, context: tokens },
      ...{ firstToken: [], promptTokensPerSecond: null, generation: [], canaries: {}, errors: [] },
    };
    const reason = reasonToSkip(participant, this.#options);
    if (reason !== undefined) return { ...result, skipped: reason };
    const samples: Sample[] = [];
    for (const bytes of promptSizes) {
      if (tokens !== null && tokensOf(bytes) > tokens) continue;
      const sample = await this.#attempt(result, () => this.#sample(id, bytes));
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
      const sample = () => this.#sample(id, promptSizes[0] ?? 0);
      const together = await this.#attempt(result, () =>
        Promise.all(Array.from({ length: requests }, sample)),
      );
      if (together !== undefined) {
        result.generation.push({ requests, tokensPerSecond: generationRate(together) });
      }
    }
    await this.#report(id, provenFeatures(await this.#outcomes(result)));
    return result;
  }

  /** One step; what fails is noted, and the next one follows. */
  async #attempt<T>({ id, errors }: ParticipantResult, work: () => Promise<T>) {
    await this.#untilQuiet(id);
    try {
      return await work();
    } catch (error) {
      this.#options.signal.throwIfAborted();
      errors.push(safe(reasonOf(error)));
      return undefined;
    }
  }

  /** Runs the canaries one after the other, and notes their verdicts. */
  async #outcomes(result: ParticipantResult): Promise<Record<CanaryName, CanaryOutcome>> {
    const checks = canaries(result.context, () => this.#context.world.random());
    const outcomes = {} as Record<CanaryName, CanaryOutcome>;
    for (const name of canaryNames) {
      const { fields, holds } = checks[name];
      let status: number | undefined;
      const message = await this.#attempt(result, () =>
        this.#completion(result.id, fields, (refused) => (status = refused)),
      );
      const verdict = message === undefined ? "refused" : holds(message) ? "passed" : "failed";
      result.canaries[name] = verdict;
      outcomes[name] = { verdict, message, status };
    }
    return outcomes;
  }

  /** Tells the room what its model was seen to do. Only the host may do that; others just get the result. */
  async #report(id: string, proven: MeasuredFeatures): Promise<void> {
    const { room, hostToken, signal } = this.#options;
    try {
      await this.#client.setMeasuredFeatures(room, id, proven, { hostToken, signal });
    } catch (error) {
      // Nor does an earlier version of the hub accept it, or any hub for a participant that has left.
      if (!isRoomhubError(error)) throw error;
    }
  }

  /** Waits until no request waits in the room and none runs at the participant. @throws CommandError when it stays busy */
  async #untilQuiet(id: string): Promise<void> {
    const { room, signal } = this.#options;
    for (let pauses = 0; pauses < mostPauses; pauses++) {
      signal.throwIfAborted();
      const route = await this.#client.explainRoute(room, { model: id });
      const own = route.participants.find((candidate) => candidate.id === id);
      if (route.queue.waiting === 0 && (own?.load.active ?? 0) === 0) return;
      await pause(this.#context.world, pauseMs, signal);
    }
    throw new CommandError(
      `Room ${room} is busy: requests wait, or run at ${safe(id)}`,
      "measure it when it is quiet: roomhub top shows what runs",
    );
  }

  async #sample(id: string, bytes: number): Promise<Sample> {
    const { hubUrl, room, signal } = this.#options;
    const { world } = this.#context;
    const startedMs = world.wallMs();
    const { usage, ttftMs, durationMs } = await requestAnswer(
      this.#context,
      {
        ...{ hubUrl, room, surface: "chat", model: id, as, session: undefined },
        messages: [{ role: "user", content: promptOf(bytes, () => world.random()) }],
        fields: { max_tokens: outputTokens },
      },
      { onText: () => undefined, onReasoning: () => undefined },
      signal,
    );
    if (ttftMs === undefined) throw new Error(`${id} responded without a token`);
    const { inputTokens = null, outputTokens: generated = null } = readUsage(usage);
    return {
      ...{ startedMs, firstTokenMs: startedMs + ttftMs, endedMs: startedMs + durationMs },
      ...{ promptTokens: inputTokens, outputTokens: generated },
    };
  }

  /** The message of a response that is not a stream. */
  async #completion(
    id: string,
    fields: JsonObject,
    onRefused: (status: number) => void,
  ): Promise<JsonObject> {
    const { room, signal } = this.#options;
    const response = await this.#context.fetch(`${this.#client.baseUrl(room)}/chat/completions`, {
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
