import type { StreamMarker, Usage } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { Scrubber } from "../inference-call.ts";
import type { DetailWatch } from "../../events/bus.ts";
import { countContentEvents } from "../stream/first-content.ts";
import { type FirstEvent, StreamObserver, type StreamVerdict } from "../stream/observe.ts";
import type { ClientWriter } from "./client-writer.ts";

/** How a stream ended. Failures are thrown. */
export type StreamEnd =
  /** Everything is written; the callback says when the socket has it. */
  | { kind: "handing-over" }
  /** The provider failed inside its own stream, and the client has the provider's own error event. */
  | { kind: "provider-error"; error: HubError };

/** What one stream is read and edited by. */
interface StreamSettings {
  participantId: string;
  marker: StreamMarker;
  /** It was made from a chat stream, by the agent or by the hub that calls the endpoint. */
  isTranslated: boolean;
  /** limit of the unfinished event that is held back */
  eventHoldBytes: number;
  /** The hub added the request for usage, so the usage is not for the client. */
  hidesUsage: boolean;
  /** removes the participant's secrets from the provider's error events */
  scrub: Scrubber | undefined;
  /** Tokens are counted while it is watched. */
  detail: DetailWatch;
  onFirstEvent: FirstEvent;
}

/** After `[DONE]` a provider closes within milliseconds; some servers leave the connection open. */
const leftOpenMs = 2_000;

const ping = 'event: ping\ndata: {"type":"ping"}\n\n';

/**
 * A streamed response on its way to the client. Its bytes pass as they come; whether it is complete is decided by what it
 * says itself, not by how its path ends. Contract §4, "Complete".
 */
export class StreamedResponse {
  readonly #writer: ClientWriter;
  readonly #settings: StreamSettings;
  readonly #observer: StreamObserver;
  #firstByteMs: number | undefined;
  #hasHiddenTimings = false;
  #usage: Usage = {};
  #outputTokens = 0;
  /** `lastByteMs` at the last check by {@link isLeftOpen}, which parses the end of the stream */
  #checkedMs = 0;

  /** @param writer - its client has the headers already */
  constructor(writer: ClientWriter, settings: StreamSettings) {
    const { marker, eventHoldBytes, hidesUsage, scrub, detail, onFirstEvent } = settings;
    this.#writer = writer;
    this.#settings = settings;
    const onHidden = hidesUsage
      ? (chunk: object) => void (this.#hasHiddenTimings = "timings" in chunk)
      : undefined;
    const edits = { hidesUsage, onHidden, scrub };
    const forward = (bytes: Buffer): void => {
      if (detail.isWatched) this.#outputTokens += countContentEvents(bytes, marker);
      writer.write(bytes);
    };
    this.#observer = new StreamObserver(marker, eventHoldBytes, forward, edits, onFirstEvent);
  }

  /** ms on the clock of {@link push}; of the first byte while there was no content */
  get firstContentMs(): number | undefined {
    return this.#observer.firstContentMs ?? this.#firstByteMs;
  }

  /** the same; undefined before any content */
  get contentMs(): number | undefined {
    return this.#observer.firstContentMs;
  }

  /** events with content that passed while detail was watched, or from the first on where they are counted */
  get outputTokens(): number {
    return this.#outputTokens;
  }

  /** of a Responses stream, as soon as it is known */
  get responseId(): string | undefined {
    return this.#observer.responseId;
  }

  /** as last read from the stream's end */
  get usage(): Usage {
    return this.#usage;
  }

  /** the same, as far as the stream has come: only when nothing more is written */
  get seenUsage(): Usage {
    return this.#observer.fail().usage;
  }

  /** The hidden chunk has `timings`, which are on a visible chunk when usage was not requested. */
  get hasHiddenTimings(): boolean {
    return this.#hasHiddenTimings;
  }

  /** A comment may be inserted here. */
  get isBetweenEvents(): boolean {
    return this.#observer.isBetweenEvents;
  }

  /**
   * What may be written between two events to keep the connection alive: Anthropic's `ping`, which its clients count as a
   * sign of life, in a stream that is made from chat and has begun; undefined for a comment. Contract §4.
   */
  get keepalive(): string | undefined {
    const isPinged = this.#settings.marker === "messages" && this.#settings.isTranslated;
    return isPinged && this.#firstByteMs !== undefined ? ping : undefined;
  }

  push(chunk: Buffer, nowMs: number): void {
    this.#firstByteMs ??= nowMs;
    this.#observer.push(chunk, nowMs);
  }

  /**
   * The provider ended the stream cleanly.
   *
   * @throws HubError `provider_disconnected` when the stream was not complete
   */
  end(nowMs: number, onHandedOver: () => void): StreamEnd {
    const verdict = this.#observer.end(nowMs);
    this.#usage = verdict.usage;
    if (verdict.providerError !== undefined) {
      // A client reads an event only once its blank line has come.
      if (verdict.isMidEvent) this.#writer.write("\n\n");
      this.#writer.client.end();
      return {
        kind: "provider-error",
        error: new HubError("provider_error", verdict.providerError),
      };
    }
    if (!verdict.isComplete) {
      throw new HubError(
        "provider_disconnected",
        `The provider of ${this.#settings.participantId} ended its stream before it was complete.`,
      );
    }
    this.#complete(verdict, onHandedOver);
    return { kind: "handing-over" };
  }

  /**
   * Ends a stream that has said that it is complete, whatever happens to its path. Contract §4.
   *
   * @returns false when it has not
   */
  endIfOver(onHandedOver: () => void): boolean {
    if (this.#writer.isFinishing) return false;
    const verdict = this.#observer.fail();
    if (!verdict.isOver) return false;
    this.#usage = verdict.usage;
    this.#complete(verdict, onHandedOver);
    return true;
  }

  #complete({ hasDone, isMidEvent }: StreamVerdict, onHandedOver: () => void): void {
    if (isMidEvent) this.#writer.write("\n\n");
    if (this.#settings.marker === "chat" && !hasDone) this.#writer.write("data: [DONE]\n\n");
    this.#writer.finish();
    this.#writer.client.end(onHandedOver);
  }

  /** @returns whether the stream has said that it is complete, and the client's socket has taken all of it */
  wasTaken(): boolean {
    if (this.#writer.isFinishing || !this.#writer.isWritable) return false;
    const { isOver, usage } = this.#observer.fail();
    this.#usage = usage;
    return isOver;
  }

  /**
   * Whether the stream is complete by its own end and its path has been silent since. Checks once per silence.
   *
   * @param lastByteMs - when the provider last sent anything
   */
  isLeftOpen(nowMs: number, lastByteMs: number): boolean {
    if (this.#writer.isFinishing) return false;
    if (nowMs - lastByteMs < leftOpenMs || this.#checkedMs === lastByteMs) return false;
    this.#checkedMs = lastByteMs;
    return this.#observer.isOver;
  }

  /** The stream cannot be completed. @returns what the error frame has to follow */
  breakOff(): StreamVerdict {
    return this.#observer.fail();
  }
}
