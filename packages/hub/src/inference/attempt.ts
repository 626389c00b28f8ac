import type { Usage } from "@roomhub/protocol";
import { roomsToWake, occupySlot, releaseSlot } from "../domain/slots.ts";
import {
  type CredentialUse,
  type Machine,
  mustLoad,
  type Participant,
  type SlotHolder,
} from "../domain/participant.ts";
import type { Pace, ResponseForm } from "../domain/placement/pace.ts";
import type { Scrubber } from "./inference-call.ts";
import type { RoomQueues } from "./queue.ts";
import type { Upload } from "./request/upload.ts";
import type {
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamCall,
  UpstreamFailure,
  RequestForProvider,
  UpstreamRequest,
} from "./upstream.ts";

/** Gets the response of an attempt. Ignores an attempt that is no longer the current one. */
export interface AttemptListener {
  attemptHead(attempt: Attempt, head: ResponseHead): void;
  /** @returns false when the client is behind */
  attemptData(attempt: Attempt, chunk: Buffer): boolean;
  attemptResumed(attempt: Attempt): void;
  attemptEnd(attempt: Attempt): void;
  attemptLost(attempt: Attempt, failure: UpstreamFailure): void;
}

interface AttemptOptions {
  sender: SlotHolder;
  isBatch: boolean;
  queues: RoomQueues;
  nowMs: () => number;
  /** The hub requests the usage of the stream, the client did not. */
  requestsUsage: boolean;
  /** removes the secrets that the participant had when the attempt began; undefined when it had none */
  scrubber: Scrubber | undefined;
  /** 0 when the request has no prompt */
  promptBytes: number;
  /** how many of them the participant is expected to compute */
  coldBytes: number;
  form: ResponseForm;
  /** of its surface, with the model and endpoint at its beginning, whatever the participant has now */
  pace: Pace;
}

/** Most interrupted tunnels have resumed by then. */
const moveAfterMs = 2_000;
const lookEveryMs = 1_000;

/**
 * One try at one participant. Holds its slot from the opening until the participant is finished with it, which may be
 * after the request itself settled: a slot is free only when the generation really ended.
 */
export class Attempt implements ResponseSink {
  readonly participant: Participant;
  readonly options: AttemptOptions;
  /** the credentials at its beginning, whatever the participant has now */
  readonly credentials: CredentialUse;
  /** See {@link ResponseHead.refusal}. */
  refusal: string | undefined;
  readonly #listener: AttemptListener;
  #startedMs = 0;
  #machine: Machine | undefined;
  #shows: Shows = "speed";
  #lookedMs = 0;
  #call: UpstreamCall | undefined;
  #upload: Upload | undefined;
  #isClosed = false;

  constructor(participant: Participant, listener: AttemptListener, options: AttemptOptions) {
    this.participant = participant;
    this.#listener = listener;
    this.options = options;
    this.credentials = participant.learned.credentials;
  }

  /** @param upload - what is still to come of the body */
  open(
    upstream: Upstream,
    request: RequestForProvider & Pick<UpstreamRequest, "sender">,
    upload: Upload | undefined,
  ): void {
    const { sender, isBatch, form, coldBytes, nowMs } = this.options;
    this.#startedMs = nowMs();
    this.#shows = showsOf(this.participant);
    this.options.pace.noteSent(form, coldBytes, this.#startedMs);
    this.#machine = occupySlot(this.participant, sender, this.#startedMs, isBatch);
    try {
      this.#upload = upload;
      const isWhole = upload?.isWhole ?? true;
      this.#call = upstream.open(isWhole ? request : { ...request, body: "streamed" }, this);
      if (!isWhole) upload?.sendTo(this.#call, request.body);
    } catch (bug) {
      this.onClosed();
      throw bug;
    }
  }

  /** No buffer of the request's body is read any more. */
  get isBodyTaken(): boolean {
    return this.#call?.isBodyTaken ?? false;
  }

  /** Its model server had not loaded the model when it began. */
  get loadsModel(): boolean {
    return this.#shows !== "speed";
  }

  resume(): void {
    if (!this.#isClosed) this.#call?.resume();
  }

  /** Whether to look for another participant now: its tunnel has been interrupted for 2 s; once a second. */
  isLookDue(nowMs: number): boolean {
    const { tunnel } = this.participant.paths;
    if (tunnel.kind !== "interrupted" || nowMs - tunnel.sinceMs < moveAfterMs) return false;
    if (nowMs - this.#lookedMs < lookEveryMs) return false;
    this.#lookedMs = nowMs;
    return true;
  }

  cancel(reason: string): void {
    if (!this.#isClosed) this.#call?.cancel(reason);
  }

  /**
   * The response is complete: the time of its first content shows how fast the participant is.
   *
   * @param usage - the cached tokens that it reports count instead of the expected warm bytes
   */
  measure(firstContentMs: number | undefined, usage: Usage): void {
    const { form, promptBytes, coldBytes, nowMs } = this.options;
    if (firstContentMs === undefined || promptBytes === 0 || this.#shows === "nothing") return;
    const { inputTokens, cachedInputTokens, promptMs } = usage;
    const isReported =
      inputTokens !== undefined && inputTokens > 0 && cachedInputTokens !== undefined;
    const reportedBytes = isReported
      ? promptBytes * Math.max(0, 1 - cachedInputTokens / inputTokens)
      : undefined;
    const prompt =
      reportedBytes === undefined
        ? { promptBytes, coldBytes }
        : { promptBytes: reportedBytes, coldBytes: reportedBytes };
    const tookMs = firstContentMs - Math.max(this.#startedMs, this.#upload?.lastByteMs ?? 0);
    if (this.#shows === "load") this.options.pace.noteLoad(prompt.coldBytes, tookMs);
    else this.options.pace.noteFirst(form, prompt, tookMs, nowMs(), promptMs);
  }

  onHead(head: ResponseHead): void {
    this.options.pace.noteAnswer(this.options.form, this.options.nowMs());
    this.#listener.attemptHead(this, head);
  }

  onData(chunk: Buffer): boolean {
    return this.#listener.attemptData(this, chunk);
  }

  onBodyDrain(): void {
    this.#upload?.drained(this.#call);
  }

  onResumed(): void {
    this.#listener.attemptResumed(this);
  }

  onEnd(): void {
    this.#listener.attemptEnd(this);
  }

  onFailure(failure: UpstreamFailure): void {
    this.#listener.attemptLost(this, failure);
  }

  onClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { sender, isBatch, queues, nowMs } = this.options;
    releaseSlot(this.participant, this.#machine, sender, this.#startedMs, isBatch);
    // A refusal of the agent itself took no slot of its model server.
    if (this.refusal === undefined) this.options.pace.noteSlot(nowMs() - this.#startedMs);
    const { roomCode } = this.participant;
    for (const code of roomsToWake(roomCode, this.#machine)) queues.wake(code);
  }
}

/** `load` when the model is loaded for the request, `nothing` when it waits for another request to load it. */
type Shows = "speed" | "load" | "nothing";

/** What the next request at a participant can show of its speed. */
function showsOf(participant: Participant): Shows {
  if (!mustLoad(participant)) return "speed";
  return participant.load.active === 0 ? "load" : "nothing";
}
