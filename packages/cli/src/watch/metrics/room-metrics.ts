import {
  type CompletePayload,
  ERROR_STATUS,
  type HubEvent,
  type InferenceProtocol,
  type ParticipantSummary,
} from "@roomhub/protocol";
import { stepBetween } from "../record/event-id.ts";
import { Histogram, type Labels, type Metric, OTHER, Series } from "./series.ts";

/** Version of the OpenTelemetry semantic conventions for generative AI that these names, units and buckets are from. */
export const SEMANTIC_CONVENTIONS_VERSION = "1.37.0";

const ttftBoundaries = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const durationBoundaries = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const tokenBoundaries = Array.from({ length: 14 }, (_, power) => 4 ** power);

const operations: Record<InferenceProtocol, string> = {
  chatCompletions: "chat",
  openResponses: "chat",
  messages: "chat",
  completions: "text_completion",
  embeddings: "embeddings",
  rerank: "rerank",
  audioSpeech: "speech",
  imageGenerations: "images",
  imageEdits: "image_edits",
  audioTranscriptions: "transcription",
  audioTranslations: "translation",
};

const none = "";

/** The participants of a room, as listed. */
export interface ListedRoom {
  room: string;
  participants: readonly ParticipantSummary[];
}

/** What the hub reports now, besides its events. */
export interface MetricsNow {
  /** whether the event stream is open */
  isConnected: boolean;
  /** undefined when the hub could not be reached */
  rooms: readonly ListedRoom[] | undefined;
}

/** The metrics of an event stream. Memory is bounded, however many rooms, participants and models there are. */
export class RoomMetrics {
  readonly #ttft = new Series(() => new Histogram(ttftBoundaries));
  readonly #duration = new Series(() => new Histogram(durationBoundaries));
  readonly #tokens = new Series(() => new Histogram(tokenBoundaries));
  readonly #requests = new Series(() => 0);
  readonly #errors = new Series(() => 0);
  readonly #resumes = new Series(() => 0);
  readonly #missed = new Series(() => 0);
  readonly #gaps = new Series(() => 0);
  #lastId: string | undefined;
  #idCount = 0;

  constructor() {
    // A counter that appears with its first increment hides that increment from `rate()`.
    this.#missed.at({});
    this.#gaps.at({});
  }

  /** Counts what lies between this id and the one before. */
  noteId(id: string): void {
    const step = stepBetween(this.#lastId, id);
    this.#lastId = id;
    this.#idCount++;
    if (step.kind !== "gap") return;
    this.#gaps.at({}).value++;
    this.#missed.at({}).value += step.missed ?? 0;
  }

  /** Events other than the ends of requests change nothing. */
  note(event: HubEvent): void {
    // A stream opened right after the creation of its room repeats that event; the events after it were not missed.
    if (event.type === "room.created" && this.#idCount === 1) this.#lastId = undefined;
    if (event.type === "llm.complete") {
      const open = openLabels(event.roomCode, event.participantId, event.model);
      this.#requests.at(open, operationOf(event.protocol)).value++;
      this.#resumes.at(open).value += event.resumes ?? 0;
      this.#record(open, event);
    } else if (event.type === "llm.error") {
      const { roomCode, participantId, stage, code } = event;
      // Before a selection, `model` is whatever the client requested.
      const open = openLabels(roomCode, participantId, participantId === null ? null : event.model);
      this.#requests.at(open, operationOf(event.protocol)).value++;
      // A code that a provider made up can be any string.
      const errorType = Object.hasOwn(ERROR_STATUS, code) ? code : OTHER;
      this.#errors.at(open, { stage, "error.type": errorType }).value++;
    }
  }

  /** In the order in which they are shown. */
  collect({ isConnected, rooms }: MetricsNow): Metric[] {
    return [
      {
        ...{ kind: "histogram", name: "gen_ai.server.time_to_first_token", unit: "s" },
        help: "Time to generate first token for successful responses.",
        points: this.#ttft.points,
      },
      {
        ...{ kind: "histogram", name: "gen_ai.server.request.duration", unit: "s" },
        help: "Request duration of successful responses, to their last byte.",
        points: this.#duration.points,
      },
      {
        ...{ kind: "histogram", name: "gen_ai.client.token.usage", unit: "{token}" },
        help: "Input and output tokens, as far as model servers report them.",
        points: this.#tokens.points,
      },
      {
        ...{ kind: "counter", name: "roomhub.requests", unit: "{request}" },
        help: "Requests that ended, failed ones included.",
        points: this.#requests.points,
      },
      {
        ...{ kind: "counter", name: "roomhub.request_errors", unit: "{request}" },
        help: "Requests that failed, by stage.",
        points: this.#errors.points,
      },
      {
        ...{ kind: "counter", name: "roomhub.request_resumes", unit: "{resume}" },
        help: "Times that successful responses went on after their tunnel had lost its connection.",
        points: this.#resumes.points,
      },
      {
        ...{ kind: "counter", name: "roomhub.events_missed", unit: "{event}" },
        help: "Events that were not received while the stream was broken.",
        points: this.#missed.points,
      },
      {
        ...{ kind: "counter", name: "roomhub.event_gaps", unit: "{gap}" },
        help: "Times that events were missed, or the hub restarted.",
        points: this.#gaps.points,
      },
      {
        ...{ kind: "gauge", name: "roomhub.event_stream_open", unit: "" },
        help: "1 while the event stream is open.",
        points: [{ labels: {}, value: isConnected ? 1 : 0 }],
      },
      ...(rooms === undefined ? [] : loadMetrics(rooms)),
    ];
  }

  #record(open: Labels, { protocol, metrics }: CompletePayload): void {
    const operation = operationOf(protocol);
    this.#ttft.at(open, operation).value.record(metrics.ttftMs / 1_000);
    this.#duration.at(open, operation).value.record(metrics.durationMs / 1_000);
    const tokens = { input: metrics.inputTokens, output: metrics.outputTokens };
    for (const [type, count] of Object.entries(tokens)) {
      if (count === undefined) continue;
      this.#tokens.at(open, { ...operation, "gen_ai.token.type": type }).value.record(count);
    }
  }
}

function openLabels(room: string, participantId: string | null, model: string | null): Labels {
  return { room, participant: participantId ?? none, "gen_ai.request.model": model ?? none };
}

function operationOf(protocol: InferenceProtocol): Labels {
  return { "gen_ai.operation.name": operations[protocol] ?? OTHER };
}

/** Named after vLLM's gauges, per participant. */
function loadMetrics(rooms: readonly ListedRoom[]): Metric[] {
  const running = new Series(() => 0);
  const waiting = new Series(() => 0);
  for (const { room, participants } of rooms) {
    for (const { id, model, load } of participants) {
      const open = openLabels(room, id, model);
      running.at(open).value += load.active;
      waiting.at(open).value += load.queued;
    }
  }
  return [
    {
      ...{ kind: "gauge", name: "roomhub.num_requests_running", unit: "{request}" },
      help: "Requests that run at a participant.",
      points: running.points,
    },
    {
      ...{ kind: "gauge", name: "roomhub.num_requests_waiting", unit: "{request}" },
      help: "Waiting requests that a participant could serve; one may wait for several.",
      points: waiting.points,
    },
  ];
}
