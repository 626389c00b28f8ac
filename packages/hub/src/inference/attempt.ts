import type { Usage } from "@roomhub/protocol";
import type { Pace, ResponseForm } from "../domain/placement/pace.ts";
import {
  type CredentialUse,
  type Machine,
  occupySlot,
  mustLoad,
  type Participant,
  releaseSlot,
  type SlotHolder,
} from "../domain/participant.ts";
import { roomsToWake } from "../domain/machine.ts";
import type { Scrubber } from "./inference-call.ts";
import type { RoomQueues } from "./queue.ts";
import type {
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamCall,
  UpstreamFailure,
  UpstreamRequest,
} from "./upstream.ts";

/** The request an attempt belongs to. Ignores what comes from an attempt that is no longer its own. */
export interface AttemptOwner {
  attemptHead(attempt: Attempt, head: ResponseHead): void;
  /** @returns false when the client is behind */
  attemptData(attempt: Attempt, chunk: Buffer): boolean;
  attemptResumed(attempt: Attempt): void;
  attemptEnd(attempt: Attempt): void;
  attemptLost(attempt: Attempt, failure: UpstreamFailure): void;
}

export interface AttemptOptions {
  sender: SlotHolder;
  queues: RoomQueues;
  nowMs: () => number;
  /** The hub requests the usage of the stream, the client did not. */
  requestsUsage: boolean;
  isRepeated: boolean;
  scrubber: Scrubber | undefined;
  /** 0 when the request has no prompt */
  promptBytes: number;
  /** how many of them the participant is expected to compute */
  coldBytes: number;
  form: ResponseForm;
}

/** Most connections that are lost for a moment are back by then. */
const moveAfterMs = 2_000;
const lookEveryMs = 1_000;

/**
 * One try at one participant. Holds its slot from the opening until the participant is finished with it, which may be
 * after the request itself settled: a slot is free only when the generation really ended.
 */
export class Attempt implements ResponseSink {
  readonly participant: Participant;
  /** The hub asked for the usage of the stream, the client did not. */
  readonly requestsUsage: boolean;
  /** The same request once more, which counts and shows as one with the attempt before. */
  readonly isRepeated: boolean;
  /** Takes out of what its provider says the secrets that the participant had when it was asked. */
  readonly scrubber: Scrubber | undefined;
  /** Of those it was made with, whatever the participant has by now. */
  readonly credentials: CredentialUse;
  /** See {@link ResponseHead.refusal}. */
  refusal: string | undefined;
  readonly #owner: AttemptOwner;
  readonly #queues: RoomQueues;
  readonly #sender: SlotHolder;
  readonly #nowMs: () => number;
  readonly #promptBytes: number;
  readonly #coldBytes: number;
  readonly #form: ResponseForm;
  /** Of the model and endpoint that it is sent to, whatever the participant has by now. */
  readonly #pace: Pace;
  #startedMs = 0;
  #machine: Machine | undefined;
  #shows: Shows = "speed";
  #lookedMs = 0;
  #call: UpstreamCall | undefined;
  #isClosed = false;

  constructor(participant: Participant, owner: AttemptOwner, options: AttemptOptions) {
    this.participant = participant;
    this.#owner = owner;
    this.#queues = options.queues;
    this.#sender = options.sender;
    this.#nowMs = options.nowMs;
    this.requestsUsage = options.requestsUsage;
    this.isRepeated = options.isRepeated;
    this.scrubber = options.scrubber;
    this.#promptBytes = options.promptBytes;
    this.#coldBytes = options.coldBytes;
    this.#form = options.form;
    this.credentials = participant.credentials;
    this.#pace = participant.pace;
  }

  open(upstream: Upstream, request: UpstreamRequest): void {
    this.#startedMs = this.#nowMs();
    this.#shows = showsOf(this.participant);
    this.#pace.noteSent(this.#form, this.#coldBytes, this.#startedMs);
    this.#machine = occupySlot(this.participant, this.#sender, this.#startedMs);
    try {
      this.#call = upstream.open(request, this);
    } catch (bug) {
      this.onClosed();
      throw bug;
    }
  }

  /** No buffer of the request's body is read any more. */
  get isBodyTaken(): boolean {
    return this.#call?.isBodyTaken ?? false;
  }

  resume(): void {
    if (!this.#isClosed) this.#call?.resume();
  }

  /** Its tunnel has had no connection for 2 s: whether to look for another participant now, which is due every second. */
  isLookDue(nowMs: number): boolean {
    const { tunnel } = this.participant;
    if (tunnel.kind !== "interrupted" || nowMs - tunnel.sinceMs < moveAfterMs) return false;
    if (nowMs - this.#lookedMs < lookEveryMs) return false;
    this.#lookedMs = nowMs;
    return true;
  }

  cancel(reason: string): void {
    if (!this.#isClosed) this.#call?.cancel(reason);
  }

  /**
   * The response is complete: how long its first content took says how fast the participant is.
   *
   * @param usage - where it reports cached tokens, they count instead of what was expected to be warm
   */
  measure(firstContentMs: number | undefined, usage: Usage): void {
    const form = this.#form;
    if (firstContentMs === undefined || this.#promptBytes === 0 || this.#shows === "nothing")
      return;
    const { inputTokens, cachedInputTokens, promptMs } = usage;
    const isReported =
      inputTokens !== undefined && inputTokens > 0 && cachedInputTokens !== undefined;
    const coldShare = isReported ? Math.max(0, 1 - cachedInputTokens / inputTokens) : 1;
    const reportedBytes = this.#promptBytes * coldShare;
    const prompt = isReported
      ? { promptBytes: reportedBytes, coldBytes: reportedBytes }
      : { promptBytes: this.#promptBytes, coldBytes: this.#coldBytes };
    const tookMs = firstContentMs - this.#startedMs;
    const pace = this.#pace;
    if (this.#shows === "load") pace.noteLoad(prompt.coldBytes, tookMs);
    else pace.noteFirst(form, prompt, tookMs, this.#nowMs(), promptMs);
  }

  onHead(head: ResponseHead): void {
    this.#pace.noteAnswer(this.#form, this.#nowMs());
    this.#owner.attemptHead(this, head);
  }

  onData(chunk: Buffer): boolean {
    return this.#owner.attemptData(this, chunk);
  }

  onResumed(): void {
    this.#owner.attemptResumed(this);
  }

  onEnd(): void {
    this.#owner.attemptEnd(this);
  }

  onFailure(failure: UpstreamFailure): void {
    this.#owner.attemptLost(this, failure);
  }

  onClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    releaseSlot(this.participant, this.#machine, this.#sender, this.#startedMs);
    // What an agent refuses itself takes no slot of its model server.
    if (this.refusal === undefined) this.#pace.noteSlot(this.#nowMs() - this.#startedMs);
    const { roomCode } = this.participant;
    for (const code of roomsToWake(roomCode, this.#machine)) this.#queues.wake(code);
  }
}

/** `load` when the model is loaded for the request, `nothing` when it waits for another one's loading. */
type Shows = "speed" | "load" | "nothing";

/** What the next request at a participant can show of its speed. */
function showsOf(participant: Participant): Shows {
  if (!mustLoad(participant)) return "speed";
  return participant.active === 0 ? "load" : "nothing";
}
